// Light, dark, or as the system says. Charts on canvases ask for colours here and hear of changes.

import { useEffect, useState } from "preact/hooks";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "headway-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
const colors = new Map<string, string>();
let version = 0;

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return THEMES.find((known) => known === kept) ?? "auto";
}

function apply(): void {
  const chosen = theme();
  if (chosen === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  colors.clear();
  version += 1;
  for (const listener of [...listeners]) listener();
}

export function setTheme(next: Theme): void {
  if (next === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  apply();
}

/** The value of a custom property, such as `--group-compile`, in the theme of the moment. */
export function color(property: string): string {
  let value = colors.get(property);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(property).trim();
    colors.set(property, value);
  }
  return value;
}

/** A number that is another one after every change of theme. */
export function useThemeVersion(): number {
  const [value, set] = useState(version);
  useEffect(() => {
    const listener = (): void => set(version);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return value;
}

dark.addEventListener("change", apply);
apply();
