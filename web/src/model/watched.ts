// Whether change detection had anything to look at: where it had not, "nothing new" would be a claim
// that nobody checked. Pure; how many days it needs is in docs/regressions.md.

import type { Regressions } from "../api/types";
import { daysBetween } from "./days";
import { dayText } from "./format";

export interface Unwatched {
  headline: string;
  /** What is missing. */
  need: string;
}

/** Seven before a change, and one after. */
const DAYS_MIN = 8;
const NEED =
  "Change detection needs eight days with data that are over (UTC): seven to compare with, and one after.";

export function unwatched(
  answer: Pick<Regressions, "series" | "checked_ns">,
  first_day: string | null,
  today: string,
): Unwatched | null {
  if (answer.series > 0) return null;
  const young = first_day === null || daysBetween(first_day, today) < DAYS_MIN;
  if (answer.checked_ns === null && !young)
    return { headline: "Not checked yet", need: "Change detection has not looked yet." };
  const since = first_day === null ? "" : ` Data begins on ${dayText(first_day)}.`;
  return { headline: "Not enough days yet to tell what is new", need: NEED + since };
}
