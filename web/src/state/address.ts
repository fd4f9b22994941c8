// The address of the browser as state of the page: one signal-like value with listeners.

import { useEffect, useState } from "preact/hooks";
import { type Address, addressText, changed, type Changes, parseAddress } from "./query";

let current = parseAddress(location.hash);
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of [...listeners]) listener();
}

addEventListener("popstate", () => {
  current = parseAddress(location.hash);
  tell();
});
addEventListener("hashchange", () => {
  const next = parseAddress(location.hash);
  if (addressText(next) === addressText(current) && next.unknown === current.unknown) return;
  current = next;
  tell();
});

export function address(): Address {
  return current;
}

/** `replace` is for what changes many times a second, as zooming does: it leaves no history. */
export function go(next: Address, how: "push" | "replace" = "push"): void {
  const text = addressText(next);
  if (text === addressText(current)) return;
  current = next;
  if (how === "push") history.pushState(null, "", text);
  else history.replaceState(null, "", text);
  tell();
}

export function change(changes: Changes, how: "push" | "replace" = "push"): void {
  const { view, job, query } = current;
  go({ view, job, query: changed(query, changes) }, how);
}

/** The address after some changes, for links that can be opened in another tab. */
export function linkTo(changes: Changes): string {
  return addressText({ ...current, query: changed(current.query, changes) });
}

export function useAddress(): Address {
  const [value, set] = useState(current);
  useEffect(() => {
    const listener = (): void => set(current);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return value;
}
