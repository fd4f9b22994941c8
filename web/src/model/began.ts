// When a regression began: by its first bad observation, which leads to what was released then. The
// `began_day` of the wire is what whole days of data say, and may lie a day beside it.

import type { Regression } from "../api/types";
import { dayOfNs } from "./days";
import { instant } from "./format";

type Began = Pick<Regression, "began_ns" | "began_low_ns" | "began_high_ns">;

/** The likeliest first bad day. */
export function beganDay(one: Pick<Began, "began_ns">): string {
  return dayOfNs(one.began_ns);
}

/** Between which instants (95%). */
export function beganRange(one: Began): string {
  return `Surely good until ${instant(one.began_low_ns)}, surely bad from ${instant(one.began_high_ns)} UTC (95%).`;
}
