// Numbers for people: three significant digits, units that fit, one decimal for percent.

const MINUS = "\u2212";
export const NOTHING = "\u2013";
const THIN = "\u202f";

type Maybe = number | null | undefined;

const missing = (x: Maybe): x is null | undefined => x == null || !Number.isFinite(x);

/** Three significant digits without an exponent; thousands are grouped and keep all digits. */
export function number3(x: Maybe): string {
  if (missing(x)) return NOTHING;
  const size = Math.abs(x);
  const sign = x < 0 ? MINUS : "";
  if (size === 0) return "0";
  if (size >= 999.5) return sign + grouped(Math.round(size));
  const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  if (size < 0.0005) return `${sign}<0.001`.replace(`${MINUS}<`, `>${MINUS}`);
  return sign + trimmed(size.toFixed(decimals));
}

function grouped(x: number): string {
  return String(x).replace(/\B(?=(\d{3})+$)/g, ",");
}
// "2.50" says no more than "2.5" where the digits are all there are.
function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function count(x: Maybe): string {
  return missing(x) ? NOTHING : (x < 0 ? MINUS : "") + grouped(Math.round(Math.abs(x)));
}

const units: [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** A duration in the largest unit that leaves at least one of it (two of minutes, hours and days). */
export function duration(seconds: Maybe): string {
  if (missing(seconds)) return NOTHING;
  const size = Math.abs(seconds);
  if (size === 0) return `0${THIN}s`;
  for (const [unit_s, unit] of units) {
    const least = unit_s >= 60 ? 2 * unit_s : unit_s * 0.9995;
    if (size >= least) return `${number3(seconds / unit_s)}${THIN}${unit}`;
  }
  return `${seconds < 0 ? MINUS : ""}<1${THIN}ns`;
}

/** With as many digits as the others of its column: "8.00 min" below "7.61 min". */
export function durationInColumn(seconds: Maybe): string {
  return duration(seconds).replace(/^(\D?)(\d+)(\.\d+)?(?=\D+$)/, (_, sign, whole, rest = "") => {
    const digits = whole === "0" ? 0 : 3 - whole.length;
    const decimals = digits > 0 ? `.${rest.slice(1).padEnd(digits, "0")}` : rest;
    return `${sign}${whole}${decimals}`;
  });
}

export function durationNs(ns: Maybe): string {
  return duration(missing(ns) ? null : ns / 1e9);
}

/** What is nearly all is not all. */
export function percent(x: Maybe): string {
  if (missing(x)) return NOTHING;
  const text = Math.abs(x).toFixed(1);
  if (text === "100.0" && x > 0 && x < 100) return ">99.9%";
  return `${x < 0 && text !== "0.0" ? MINUS : ""}${text}%`;
}

/** A difference of two shares: "−5.3 points". */
export function points(x: Maybe): string {
  return missing(x) ? NOTHING : `${signed(x, (v) => v.toFixed(1))} points`;
}

export function signed(x: number, size: (x: number) => string): string {
  const text = size(Math.abs(x));
  if (/^[0.]+\D*$/.test(text)) return text;
  if (text.startsWith("<")) return x < 0 ? `>${MINUS}${text.slice(1)}` : text;
  return (x < 0 ? MINUS : "+") + text;
}

export function deviceHours(x: Maybe): string {
  return missing(x) ? NOTHING : number3(x);
}

/** By the wire's unit word. */
export function inUnit(x: Maybe, unit: string): string {
  if (missing(x)) return NOTHING;
  if (unit === "pct" || unit === "%") return percent(x);
  if (unit === "s") return duration(x);
  if (unit === "ns") return durationNs(x);
  return number3(x);
}

/** Two numbers to be compared, the smaller one in the unit of the larger. */
export function bothInUnit(x: number, y: number, unit: string): [string, string] {
  if (unit !== "s" && unit !== "ns") return [inUnit(x, unit), inUnit(y, unit)];
  const scale = unit === "ns" ? 1e-9 : 1;
  const size = Math.max(Math.abs(x), Math.abs(y)) * scale;
  const [unit_s, word] = units.find(([one]) => size >= (one >= 60 ? 2 * one : one)) ?? [1, "s"];
  const text = (value: number): string => `${number3((value * scale) / unit_s)}${THIN}${word}`;
  return [text(x), text(y)];
}

export function deltaInUnit(x: Maybe, unit: string): string {
  if (missing(x)) return NOTHING;
  if (unit === "pct" || unit === "%") return points(x);
  return signed(x, (v) => inUnit(v, unit));
}

/** Told as "0.0 points" or the like: neither better nor worse. */
export function isNothing(x: number, unit: string): boolean {
  return /^[0.]+\D*$/.test(deltaInUnit(x, unit));
}

/** With as many digits as it has: for tables, where small steps stand beside large ones. */
export function deltaExact(x: Maybe, unit: string): string {
  if (missing(x)) return NOTHING;
  if (unit === "pct" || unit === "%") return `${signed(x, number3)} points`;
  return deltaInUnit(x, unit);
}

export function bytes(x: Maybe): string {
  if (missing(x)) return NOTHING;
  const steps = ["B", "kB", "MB", "GB", "TB"];
  let value = x;
  let i = 0;
  while (Math.abs(value) >= 999.5 && i + 1 < steps.length) {
    value /= 1000;
    i += 1;
  }
  return `${number3(value)}${THIN}${steps[i]}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** "2026-11-09" → "9 Nov". */
export function dayText(day: string | null | undefined): string {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? "");
  if (!parts) return NOTHING;
  return `${Number(parts[3])} ${MONTHS[Number(parts[2]) - 1]}`;
}

/** "9 Nov – 11 Nov", or a single day. */
export function daysText(from: string, last: string): string {
  return from === last ? dayText(from) : `${dayText(from)} – ${dayText(last)}`;
}

const two = (x: number): string => String(x).padStart(2, "0");

/** "9 Nov 14:03" in UTC, as all days are; instants are Unix ns. */
export function instant(t_ns: Maybe, withSeconds = false): string {
  if (missing(t_ns)) return NOTHING;
  const t = new Date(t_ns / 1e6);
  const clock = `${two(t.getUTCHours())}:${two(t.getUTCMinutes())}`;
  const seconds = withSeconds ? `:${two(t.getUTCSeconds())}` : "";
  return `${t.getUTCDate()} ${MONTHS[t.getUTCMonth()]} ${clock}${seconds}`;
}

export function ago(t_ns: Maybe, now_ns: number): string {
  if (missing(t_ns)) return NOTHING;
  const s = Math.max(0, (now_ns - t_ns) / 1e9);
  return s < 10 ? "just now" : `${duration(s < 100 ? Math.round(s) : s)} ago`;
}

/** An attempt's id is allocation × 65536 + launch. "2" of a job with one allocation, else "2.1". */
export function attemptText(id: number): string {
  return id < 65536 ? String(id) : `${Math.floor(id / 65536)}.${id % 65536}`;
}

export function keyText(key: Partial<Record<string, string>>): string {
  const parts = Object.entries(key).map(([name, value]) =>
    value === ""
      ? `no ${name}`
      : value === undefined
        ? name
        : name === "size"
          ? `${value.replace("-", " to ")} devices`
          : value,
  );
  return parts.length ? parts.join(" · ") : "whole fleet";
}

/** A probability, for people: "<0.1%". */
export function chance(p: Maybe): string {
  if (missing(p)) return NOTHING;
  return p < 0.001 ? "<0.1%" : percent(100 * p);
}

/** Said after a number of failures, which these are not among. */
export function besideFailures(user_errors: number): string {
  return user_errors > 0 ? `+ ${plural(user_errors, "user error")}` : "";
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
