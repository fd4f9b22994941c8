// The stream of what changes at the collector: one for the page, opened again for as long as it is
// shown. fetch rather than EventSource, which cannot send a token. A tab that nobody looks at gives its
// stream up: browsers open six connections to a host, and streams of six tabs would take them all.

import { ApiError, failure, headers } from "./client";
import { EventStreamParser } from "./event_stream";
import { onToken, tokenWanted } from "./token";
import type { LiveEvent } from "./types";

export type Connection = "connecting" | "live" | "offline";

const RETRY_FIRST_MS = 1000;
const RETRY_MAX_MS = 15_000;
/** The collector sends a comment every 15 s; three that are missing are a connection that is gone. */
const SILENCE_MAX_MS = 50_000;
const HIDDEN_MAX_MS = 20_000;

let connection: Connection = "connecting";
let since_ms = Date.now();
const stateListeners = new Set<() => void>();
const eventListeners = new Set<(event: LiveEvent) => void>();

export function connectionState(): { connection: Connection; since_ms: number } {
  return { connection, since_ms };
}
export function onConnection(listener: () => void): () => void {
  stateListeners.add(listener);
  return () => void stateListeners.delete(listener);
}
export function onEvent(listener: (event: LiveEvent) => void): () => void {
  eventListeners.add(listener);
  return () => void eventListeners.delete(listener);
}

function become(next: Connection): void {
  if (next === connection) return;
  connection = next;
  since_ms = Date.now();
  for (const listener of [...stateListeners]) listener();
}

async function listen(): Promise<void> {
  const abort = new AbortController();
  let watch = setTimeout(() => abort.abort(), SILENCE_MAX_MS);
  let leave: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(leave);
    if (document.hidden) leave = setTimeout(() => abort.abort(), HIDDEN_MAX_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  try {
    const response = await fetch("/api/v1/events", { headers: headers(), signal: abort.signal });
    if (!response.ok) throw await failure(response);
    if (!response.body) throw new ApiError(response.status, "no stream");
    become("live");
    const parser = new EventStreamParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(() => abort.abort(), SILENCE_MAX_MS);
      for (const event of parser.push(value)) for (const hear of [...eventListeners]) hear(event);
    }
  } finally {
    clearTimeout(watch);
    clearTimeout(leave);
    document.removeEventListener("visibilitychange", look);
  }
}

function untilShown(): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    const stop = onToken(done);
    function done(): void {
      clearTimeout(timer);
      stop();
      removeEventListener("online", done);
      resolve();
    }
    addEventListener("online", done);
  });
}

export async function keepListening(): Promise<never> {
  let wait_ms = RETRY_FIRST_MS;
  for (;;) {
    const begun_ms = Date.now();
    try {
      await listen();
    } catch {
      // Which way it ended makes no difference: it is tried again.
    }
    if (!tokenWanted()) become("offline");
    if (document.hidden) {
      await untilShown();
      wait_ms = RETRY_FIRST_MS;
      continue;
    }
    if (Date.now() - begun_ms > RETRY_MAX_MS) wait_ms = RETRY_FIRST_MS;
    await pause(wait_ms);
    wait_ms = Math.min(wait_ms * 2, RETRY_MAX_MS);
  }
}
