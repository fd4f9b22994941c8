// The part of a job's time that is on show, as offsets in ns from the job's begin. Pure.

export interface Window {
  from: number;
  to: number;
}

/** Instants of Unix time are doubles here, good to about 256 ns: less than this shows nothing more. */
export const SPAN_MIN_NS = 1e6;

export function span(window: Window): number {
  return window.to - window.from;
}

/** Within the job, and not smaller than makes sense; the length is kept where it fits. */
export function clamped(window: Window, whole: Window): Window {
  const length = Math.min(Math.max(span(window), Math.min(SPAN_MIN_NS, span(whole))), span(whole));
  const from = Math.min(Math.max(window.from, whole.from), whole.to - length);
  return { from, to: from + length };
}

/** `factor` below 1 goes in; the instant at `share` of the width stays where it is. */
export function zoomed(window: Window, factor: number, share: number, whole: Window): Window {
  const at = window.from + span(window) * share;
  const wanted = Math.min(Math.max(span(window) * factor, SPAN_MIN_NS), span(whole));
  return clamped({ from: at - wanted * share, to: at + wanted * (1 - share) }, whole);
}

export function panned(window: Window, shares: number, whole: Window): Window {
  const by = span(window) * shares;
  return clamped({ from: window.from + by, to: window.to + by }, whole);
}

export function windowText(window: Window, whole: Window): string | null {
  if (window.from <= whole.from && window.to >= whole.to) return null;
  return `${Math.round(window.from)}-${Math.round(window.to)}`;
}

export function parseWindow(text: string | undefined, whole: Window): Window {
  const parts = /^(\d{1,17})-(\d{1,17})$/.exec(text ?? "");
  if (!parts) return whole;
  const window = { from: Number(parts[1]), to: Number(parts[2]) };
  return window.to > window.from ? clamped(window, whole) : whole;
}

const STEPS_S = [
  1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1,
  0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 345600, 604800, 1209600, 2592000,
];

/** Offsets of ticks at round instants of Unix time, at most `count` of them, and their step. */
export function ticks(
  window: Window,
  begin_ns: number,
  count: number,
): { at: number[]; step_s: number } {
  const wanted_s = span(window) / 1e9 / Math.max(1, count);
  const step_s = STEPS_S.find((step) => step >= wanted_s) ?? 5184000;
  const step = step_s * 1e9;
  // Below a second the whole seconds of the begin are left out: a double has no room for both.
  const base = step_s >= 1 ? 0 : Math.floor(begin_ns / 1e9) * 1e9;
  const shift = begin_ns - base;
  const at: number[] = [];
  const first = Math.ceil((window.from + shift) / step);
  for (let n = first; n * step - shift <= window.to && at.length <= count + 1; ++n)
    at.push(n * step - shift);
  return { at, step_s };
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** As much of the clock as tells ticks of this step apart. */
export function tickText(offset: number, begin_ns: number, step_s: number): string {
  const time = new Date((begin_ns + offset) / 1e6);
  const two = (x: number): string => String(x).padStart(2, "0");
  const day = `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]}`;
  if (step_s >= 86400) return day;
  const clock = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
  if (step_s >= 60) return clock === "00:00" ? day : clock;
  const seconds = `${clock}:${two(time.getUTCSeconds())}`;
  if (step_s >= 1) return seconds;
  const digits = step_s >= 1e-3 ? 3 : 6;
  const second = (((begin_ns % 1e9) + offset) % 1e9) / 1e9;
  const fraction = (Math.round(second * 10 ** digits) / 10 ** digits) % 1;
  return `${two(time.getUTCSeconds())}${fraction.toFixed(digits).slice(1)} s`;
}
