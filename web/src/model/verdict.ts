// The first thing on the page: is something wrong, since when, whose doing, what to do. Pure: from
// what the collector found and what the period before looked like.

import type { Doubt, Group, Key, Loss, Losses, Regression } from "../api/types";
import { beganDay } from "./began";
import { bucketOf } from "./buckets";
import { dayText, deviceHours, keyText, percent, plural } from "./format";
import type { Unwatched } from "./watched";

export type Level = "bad" | "warn" | "ok" | "unknown";

export interface Verdict {
  level: Level;
  headline: string;
  /** What the headline rests on. */
  detail: string;
  /** Open regressions, the dearest first. */
  open: Regression[];
}

const SHOWN_MAX = 3;

/** Two numbers with doubt differ when the ranges do not touch. */
export function differ(x: Doubt, y: Doubt): boolean {
  if (x.low === null || x.high === null || y.low === null || y.high === null) return false;
  return x.high < y.low || y.high < x.low;
}

export function ettChange(now: Group, past: Group | null): number | null {
  const before = past?.ett_pct.value ?? null;
  return now.ett_pct.value === null || before === null ? null : now.ett_pct.value - before;
}

function ettText(now: Group, past: Group | null, days: number): string {
  const change = ettChange(now, past);
  const ett = `ETT is ${percent(now.ett_pct.value)}`;
  if (change === null || !past) return `${ett}.`;
  const than = days === 1 ? "the day before" : `the ${days} days before`;
  if (!differ(now.ett_pct, past.ett_pct)) return `${ett}, as in ${than}.`;
  const size = Math.abs(change).toFixed(1);
  return `${ett}, ${size} points ${change < 0 ? "below" : "above"} ${than}.`;
}

/** A regression concerns a view unless it is about values that the view's filters leave out. */
export function concerns(stratum: Key, where: readonly string[]): boolean {
  return Object.entries(stratum).every(([name, value]) => {
    const wanted = where.filter((text) => text.startsWith(`${name}:`));
    return wanted.length === 0 || wanted.includes(`${name}:${value ?? ""}`);
  });
}

export function verdict(
  regressions: readonly Regression[],
  now: Group | null,
  past: Group | null,
  losses: Losses | null,
  days: number,
  blind: Unwatched | null = null,
): Verdict {
  const open = regressions
    .filter((one) => one.state === "open")
    .sort((x, y) => y.device_hours_per_day - x.device_hours_per_day);
  const detail = now ? ettText(now, past, days) : "";
  if (now && now.ett_pct.value === null)
    return { level: "unknown", headline: "No job ran in this period", detail: "", open };
  if (open.length) {
    const since = open.map(beganDay).sort()[0];
    const cost = open.reduce((sum, one) => sum + one.device_hours_per_day, 0);
    const headline = `${plural(open.length, "open regression")} since ${dayText(since)}, costing ${deviceHours(cost)} device-hours a day`;
    return { level: "bad", headline, detail, open };
  }
  if (!now) {
    const headline = blind?.headline ?? "No regression is open";
    return { level: "unknown", headline, detail: blind?.need ?? "", open };
  }
  const change = ettChange(now, past);
  if (change !== null && change < 0 && past && differ(now.ett_pct, past.ett_pct))
    return {
      level: "warn",
      headline: blind
        ? "ETT fell, and there are not days enough to say by what"
        : "ETT fell, and no single regression explains it",
      detail,
      open,
    };
  const top = losses?.losses[0];
  const rest = top
    ? ` The largest loss is ${bucketOf(top.bucket)?.label ?? top.label}: ${deviceHours(top.device_hours)} device-hours.`
    : "";
  if (blind)
    return {
      level: "unknown",
      headline: blind.headline,
      detail: `${blind.need} ${detail}${rest}`,
      open,
    };
  return { level: "ok", headline: "Nothing new is wrong", detail: detail + rest, open };
}

export function shownRegressions(open: readonly Regression[]): readonly Regression[] {
  return open.slice(0, SHOWN_MAX);
}

/** Whose doing: what sets the slow attempts apart. (The largest term of the dip is what ETT% lost most
 * to at that time, and need not have anything to do with it.) */
export function culprit(one: Regression): { text: string; sub: string } {
  const sets = one.separates[0];
  if (sets)
    return {
      text: `${sets.field} ${sets.value || "(none)"}`,
      sub: `${percent(sets.before_pct)} → ${percent(sets.after_pct)} of attempts`,
    };
  return { text: keyText(one.stratum), sub: "nothing else sets the attempts apart" };
}

/** What to do: the advice about the bucket that changed, where the ranked losses hold it. */
export function remedy(one: Regression, losses: readonly Loss[]): string {
  const bucket = bucketOf(one.component);
  const loss = losses.find(
    (other) => other.bucket === one.component || (bucket && bucketOf(other.bucket) === bucket),
  );
  return loss?.advice ?? "Open one of its attempts and compare its start with one from before.";
}
