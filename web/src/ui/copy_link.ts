// A link that shows the same to somebody else tomorrow: the days that are on show are written into it.

import { address } from "../state/address";
import { addressText, changed, type Changes } from "../state/query";
import { say } from "./announce";

let pinned: Changes = {};

/** Views say here which of their relative settings a link has to spell out. */
export function pinInLinks(changes: Changes): void {
  pinned = changes;
}

export function panelLink(panel: string): string {
  const now = address();
  const query = changed(now.query, { ...pinned, panel });
  return `${location.origin}${location.pathname}${addressText({ ...now, query })}`;
}

export async function copyLink(panel: string): Promise<void> {
  const text = panelLink(panel);
  try {
    await navigator.clipboard.writeText(text);
    say("Link copied");
  } catch {
    // No clipboard without TLS: the address bar then holds the link.
    history.replaceState(null, "", new URL(text).hash);
    say("The link is in the address bar");
  }
}
