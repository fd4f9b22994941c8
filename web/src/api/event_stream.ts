// text/event-stream, as it comes in pieces, to events. Pure; what is unknown is left out.

import type { LiveEvent } from "./types";

const BUFFER_MAX = 1 << 20;

export class EventStreamParser {
  private rest = "";

  /** The events that this piece completes. */
  push(piece: string): LiveEvent[] {
    this.rest = (this.rest + piece).replaceAll("\r\n", "\n");
    if (this.rest.length > BUFFER_MAX) this.rest = "";
    const events: LiveEvent[] = [];
    for (;;) {
      const end = this.rest.indexOf("\n\n");
      if (end < 0) return events;
      const event = parsed(this.rest.slice(0, end));
      this.rest = this.rest.slice(end + 2);
      if (event) events.push(event);
    }
  }
}

function parsed(block: string): LiveEvent | null {
  let kind = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  if (kind !== "job" && kind !== "fleet" && kind !== "regression") return null;
  try {
    const body: unknown = JSON.parse(data.join("\n"));
    if (body && typeof body === "object") return { ...body, kind } as LiveEvent;
  } catch {
    // A line that is no JSON tells nothing.
  }
  return null;
}
