// A panel: a heading, a chart or its table, and the four states that are not the usual one.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../api/client";
import { connectionState } from "../api/live";
import type { Answer } from "../api/use_api";
import { change, useAddress } from "../state/address";
import { first } from "../state/query";
import { copyLink } from "./copy_link";
import { Words } from "./words";

interface Props<T> {
  id: string;
  title: string;
  note?: ComponentChildren;
  class?: string;
  answer: Answer<T>;
  /** What to say when the answer holds nothing; null when it holds something. */
  empty?: (data: T) => string | null;
  controls?: ComponentChildren;
  children: (data: T) => ComponentChildren;
  table?: (data: T) => ComponentChildren;
  /** Rows of the skeleton: about as high as what will come. */
  rows?: number;
}

const LIST = "table";

export function Panel<T>(props: Props<T>) {
  const { id, title, answer } = props;
  const { query } = useAddress();
  const shown = query[LIST]?.includes(id) ?? false;
  const pointed = first(query, "panel") === id;
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (pointed) place.current?.scrollIntoView({ block: "nearest" });
  }, [pointed, answer.data === null]);
  const toggle = (): void => {
    const others = (query[LIST] ?? []).filter((other) => other !== id);
    change({ [LIST]: shown ? others : [...others, id] });
  };
  return (
    <section
      ref={place}
      id={`panel-${id}`}
      class={`panel ${props.class ?? ""} ${pointed ? "pointed" : ""}`}
      aria-labelledby={`title-${id}`}
    >
      <header>
        <h2 id={`title-${id}`}>{title}</h2>
        {props.note && <span class="note">{props.note}</span>}
        <div class="tools">
          {props.controls}
          {props.table && (
            <button
              type="button"
              class="quiet"
              aria-pressed={shown}
              aria-label={`Table: ${title}`}
              onClick={toggle}
            >
              <TableIcon />
              <span class="word">Table</span>
            </button>
          )}
          <button
            type="button"
            class="quiet"
            aria-label={`Copy link: ${title}`}
            title="Copy a link to this"
            onClick={() => void copyLink(id)}
          >
            <LinkIcon />
          </button>
        </div>
      </header>
      <div class={`body ${answer.changing ? "busy" : ""}`}>
        <Body {...props} shown={shown} />
      </div>
    </section>
  );
}

function Body<T>(props: Props<T> & { shown: boolean }) {
  const { answer, empty, shown } = props;
  if (answer.data === null) {
    if (answer.error) return <Failed error={answer.error} retry={answer.retry} />;
    return <Skeleton rows={props.rows ?? 6} label={props.title} />;
  }
  const nothing = empty?.(answer.data) ?? null;
  return (
    <>
      <Stale answer={answer} />
      {nothing !== null ? (
        <div class="told">
          <p>
            <Words text={nothing} />
          </p>
        </div>
      ) : shown && props.table ? (
        <div class="scroll" tabIndex={0} role="group" aria-label={`${props.title}, as a table`}>
          {props.table(answer.data)}
        </div>
      ) : (
        props.children(answer.data)
      )}
    </>
  );
}

/** Older numbers stay on show when newer cannot be had, and say so. */
function Stale<T>({ answer }: { answer: Answer<T> }) {
  if (!answer.error) return null;
  return (
    <div class="stale">
      <span>Older numbers: {answer.error.message}</span>
      <button type="button" class="quiet" onClick={answer.retry}>
        Retry
      </button>
    </div>
  );
}

export function Failed({ error, retry }: { error: ApiError; retry: () => void }) {
  return (
    <div class="told">
      <p>
        <strong>{error.message}</strong> <Words text={whatToDo(error)} />
      </p>
      <button type="button" onClick={retry}>
        Retry
      </button>
    </div>
  );
}

function whatToDo(error: ApiError): string {
  if (error.status === 401) return "Give a token of role read.";
  if (error.status === 403) return "This token may not see it; ask for one of role read.";
  if (error.status === 0 || connectionState().connection === "offline")
    return "Check that `headway serve` runs and that this machine reaches it; the page tries again by itself.";
  if (error.status === 404) return "It may have been removed, or the link is of another collector.";
  if (error.status >= 500) return "Retry; if it stays, look at the collector's log.";
  return "";
}

export function Skeleton({ rows, label }: { rows: number; label: string }) {
  return (
    <div class="skeleton" role="status" aria-label={`${label}: loading`}>
      {Array.from({ length: rows }, (_, i) => (
        <i key={i} />
      ))}
    </div>
  );
}

function TableIcon() {
  return (
    <svg width="13" height="13" viewBox="0 0 16 16" aria-hidden="true" fill="none">
      <path
        d="M2.5 3.5h11v9h-11zM2.5 6.5h11M2.5 9.5h11M6.5 6.5v6"
        stroke="currentColor"
        stroke-width="1.3"
      />
    </svg>
  );
}

function LinkIcon() {
  return (
    <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true" fill="none">
      <path
        d="M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.3-2.3a2.6 2.6 0 0 0-3.7-3.7L8 4.3M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.2 9.1a2.6 2.6 0 0 0 3.7 3.7L8 11.7"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
      />
    </svg>
  );
}
