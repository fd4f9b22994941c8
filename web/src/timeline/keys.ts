// Keys of the timeline. Pure: a key and where one stands to where one goes.

import { clamped, panned, span, zoomed, type Window } from "./window";

export interface Standing {
  window: Window;
  whole: Window;
  /** Offsets of failures, in order. */
  failures: readonly number[];
}

export const HELP =
  "Left and right arrows pan, plus and minus zoom, 0 shows all, [ and ] go to the failure before and after, up and down arrows choose a rank and Enter reads what it did in the middle of the window.";

const AROUND_FAILURE_NS = 20 * 60e9;

/** Where a key leads, or null when it means nothing here. */
export function keyed(key: string, standing: Standing): Window | null {
  const { window, whole } = standing;
  switch (key) {
    case "ArrowLeft":
      return panned(window, -0.2, whole);
    case "ArrowRight":
      return panned(window, 0.2, whole);
    case "+":
    case "=":
      return zoomed(window, 0.5, 0.5, whole);
    case "-":
    case "_":
      return zoomed(window, 2, 0.5, whole);
    case "0":
    case "Home":
      return whole;
    case "[":
      return toFailure(standing, -1);
    case "]":
      return toFailure(standing, 1);
    default:
      return null;
  }
}

function toFailure({ window, whole, failures }: Standing, way: 1 | -1): Window | null {
  const middle = (window.from + window.to) / 2;
  const all = span(window) >= span(whole);
  const step = span(window) * 1e-6;
  const next =
    way > 0
      ? failures.find((at) => all || at > middle + step)
      : failures.findLast((at) => all || at < middle - step);
  if (next === undefined) return null;
  const length = Math.min(span(window), AROUND_FAILURE_NS);
  return clamped({ from: next - length / 2, to: next + length / 2 }, whole);
}
