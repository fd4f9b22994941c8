// Answers of the collector as state of a component. One request for a path however many ask; what was
// shown stays while newer is fetched; live events make answers stale.

import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "./client";
import { Entry } from "./entry";
import { connectionState, onConnection, onEvent } from "./live";
import { onToken, tokenWanted } from "./token";

export interface Answer<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  /** `data` answers the question before this one. */
  changing: boolean;
  retry: () => void;
}

const ENTRIES_MAX = 80;
const FRESH_MS = 20_000;
const entries = new Map<string, Entry>();

async function ask(path: string): Promise<unknown> {
  try {
    return await get<unknown>(path);
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError(0, String(error));
  }
}

function entryOf(path: string): Entry {
  let entry = entries.get(path);
  if (entry) return entry;
  for (const [key, old] of entries) {
    if (entries.size < ENTRIES_MAX) break;
    if (old.listeners.size === 0) entries.delete(key);
  }
  entry = new Entry(path, ask);
  entries.set(path, entry);
  return entry;
}

/** Every answer whose path begins so is asked for again, soon. */
export function invalidate(prefix: string): void {
  for (const entry of entries.values()) if (entry.path.startsWith(prefix)) entry.refresh();
}

onEvent((event) => {
  if (event.kind === "fleet") {
    invalidate("/api/v1/fleet/");
    invalidate("/api/v1/status");
  } else if (event.kind === "regression") {
    invalidate("/api/v1/regressions");
  } else {
    invalidate("/api/v1/jobs?");
    invalidate(`/api/v1/jobs/${encodeURIComponent(event.job)}/`);
  }
});
onToken(() => {
  if (!tokenWanted()) invalidate("");
});
let wasOffline = false;
onConnection(() => {
  const { connection } = connectionState();
  if (connection === "live" && wasOffline) invalidate("");
  wasOffline = connection === "offline";
});

/** Null asks nothing. A new path keeps the last answer's data on show until its own is there. */
export function useApi<T>(path: string | null): Answer<T> {
  const [, redraw] = useState(0);
  const [last, setLast] = useState<T | null>(null);
  useEffect(() => {
    if (path === null) return;
    const entry = entryOf(path);
    const listener = (): void => {
      if (entry.data !== null) setLast(entry.data as T);
      redraw((n) => n + 1);
    };
    entry.listeners.add(listener);
    const stale = Date.now() - entry.fetched_ms > FRESH_MS;
    if (!entry.loading && (entry.data === null || entry.error || stale)) void entry.load();
    else listener();
    return () => void entry.listeners.delete(listener);
  }, [path]);
  if (path === null)
    return { data: null, error: null, loading: true, changing: false, retry: () => {} };
  const entry = entryOf(path);
  return {
    data: (entry.data as T | null) ?? (entry.error ? null : last),
    error: entry.error as ApiError | null,
    loading: entry.loading || (entry.data === null && entry.error === null),
    changing: entry.data === null && entry.error === null && last !== null,
    retry: () => void entry.load(),
  };
}
