// What a trend shows, in words for who cannot see it: the label of its chart. Pure.

import { dayOfNs } from "./days";
import { dayText, inUnit } from "./format";
import { type Mark, markWords } from "./marks";

const LINES_MAX = 6;

interface Told {
  label: string;
  /** Seconds since 1970, one a day. */
  days_s: readonly number[];
  lines: readonly { label: string; value: readonly (number | null)[] }[];
  unit: string;
  marks?: readonly Mark[];
}

/** "ETT%: 91.2% on 21 Aug, 85.0% on 18 Nov, lowest 81.3% on 23 Oct.", and the regressions marked. */
export function trendWords({ label, days_s, lines, unit, marks = [] }: Told): string {
  const text = (point: { value: number; i: number }): string =>
    `${inUnit(point.value, unit)} on ${dayText(dayOfNs((days_s[point.i] ?? 0) * 1e9))}`;
  const told = lines.slice(0, LINES_MAX).map((line) => {
    const known = line.value.flatMap((value, i) => (value === null ? [] : [{ value, i }]));
    const [begin, last] = [known[0], known.at(-1)];
    if (!begin || !last) return `${line.label}: no values`;
    if (known.length === 1) return `${line.label}: ${text(begin)}`;
    const lowest = known.reduce((x, y) => (y.value < x.value ? y : x));
    const highest = known.reduce((x, y) => (y.value > x.value ? y : x));
    return `${line.label}: ${text(begin)}, ${text(last)}; lowest ${text(lowest)}, highest ${text(highest)}`;
  });
  return `${label}. ${told.join(". ")}. ${markWords(marks)}`.trimEnd();
}
