// Regressions as marks on a trend by day: which of them belong on what is shown, and their words, for the
// lines on the canvas, for its label and for its table. Pure.

import type { Regression } from "../api/types";
import { beganDay } from "./began";
import { componentWords } from "./buckets";
import { type Period, unixSeconds } from "./days";
import { dayText, keyText } from "./format";
import { concerns } from "./verdict";

export interface Mark {
  /** `YYYY-MM-DD`, and the same in seconds since 1970. */
  day: string;
  t_s: number;
  label: string;
  /** A custom property. */
  color: string;
  /** Whose label is written where there is not room for all. */
  weight: number;
}

const STATE_WORDS = { open: "", acknowledged: " (acknowledged)", gone: " (gone)" };
const WORDS_MAX = 6;

/** Those that began in the period and that the view's filters do not leave out, by day. */
export function marksOf(
  regressions: readonly Regression[],
  days: Period | null,
  where: readonly string[],
): Mark[] {
  if (!days) return [];
  return regressions
    .filter((one) => beganDay(one) >= days.from && beganDay(one) < days.to)
    .filter((one) => concerns(one.stratum, where))
    .map((one) => ({
      day: beganDay(one),
      t_s: unixSeconds(beganDay(one)),
      label: `${componentWords(one.component, one.label)} · ${keyText(one.stratum)}${STATE_WORDS[one.state]}`,
      color: one.state === "open" ? "--bad" : "--muted",
      weight: (one.state === "open" ? 1e9 : 0) + one.device_hours_per_day,
    }))
    .sort((x, y) => x.t_s - y.t_s || y.weight - x.weight);
}

/** "Regressions: warm compile · dlrm-ctr since 12 Nov." The weightiest where there are many. */
export function markWords(marks: readonly Mark[]): string {
  if (!marks.length) return "";
  const told = marks.toSorted((x, y) => y.weight - x.weight).slice(0, WORDS_MAX);
  const texts = told.map((mark) => `${mark.label} since ${dayText(mark.day)}`);
  const rest = marks.length - told.length;
  if (rest) texts.push(`${rest} more`);
  return `Regressions: ${texts.join(", ")}.`;
}

/** What began on a day, in words. */
export function marksOn(marks: readonly Mark[], day: string): string {
  return marks
    .filter((mark) => mark.day === day)
    .map((mark) => mark.label)
    .join(", ");
}
