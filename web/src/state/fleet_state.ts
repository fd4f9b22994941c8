// What the fleet view is told by its address, and the queries of the API that follow from it.

import type { Dimension, Weight } from "../api/types";
import {
  addDays,
  before,
  daysBetween,
  isDay,
  lastDays,
  PERIODS,
  type Period,
  type PeriodWord,
} from "../model/days";
import { choice, first, type Query } from "./query";

export const DIMENSIONS: readonly Dimension[] = [
  "family",
  "team",
  "cluster",
  "hardware",
  "size",
  "torch",
  "priority",
  "revision",
  "config",
];

export interface FleetState {
  period: PeriodWord | "custom";
  /** Known only when the address says it, or the collector has said what its last day is. */
  days: Period | null;
  where: readonly string[];
  weight: Weight;
  by: Dimension | "";
}

export interface WaterfallState {
  metric: "time_to_start_s" | "ett_pct";
  split: "component" | "lever";
  a: Period;
  b: Period;
  where_a: readonly string[];
  where_b: readonly string[];
}

export function fleetState(query: Query, last_day: string | null): FleetState {
  const from = first(query, "from");
  const to = first(query, "to");
  // `to` is left out in the address, as in the API, but a day and itself can only mean that day.
  const custom = isDay(from) && isDay(to) && from <= to;
  const word = choice(query, "period", PERIODS, "30d");
  const days = custom
    ? { from, to: to === from ? addDays(to, 1) : to }
    : last_day
      ? lastDays(word, last_day)
      : null;
  return {
    period: custom ? "custom" : word,
    days,
    where: filters(query, "where"),
    weight: choice(query, "weight", ["device", "job"] as const, "device"),
    by: choice(query, "by", ["", ...DIMENSIONS], ""),
  };
}

/** `dimension:value` texts; others are nothing that the API knows. */
export function filters(query: Query, name: string): readonly string[] {
  return (query[name] ?? []).filter((text) =>
    DIMENSIONS.some((dimension) => text.startsWith(`${dimension}:`)),
  );
}

/** Against the period before; where there are no data of it, one half against the other. */
function usualSides(days: Period, first_day: string | null): { a: Period; b: Period } {
  const earlier = before(days);
  const length = daysBetween(days.from, days.to);
  if (first_day === null || earlier.from >= first_day || length < 2) return { a: earlier, b: days };
  const middle = addDays(days.from, Math.floor(length / 2));
  return { a: { from: days.from, to: middle }, b: { from: middle, to: days.to } };
}

export function waterfallState(
  query: Query,
  state: FleetState,
  first_day: string | null,
): WaterfallState | null {
  if (!state.days) return null;
  const usual = usualSides(state.days, first_day);
  const from_a = first(query, "from_a");
  const to_a = first(query, "to_a");
  const a = isDay(from_a) && isDay(to_a) && from_a < to_a ? { from: from_a, to: to_a } : null;
  return {
    metric: choice(query, "wf", ["time_to_start_s", "ett_pct"] as const, "ett_pct"),
    split: choice(query, "split", ["component", "lever"] as const, "component"),
    a: a ?? usual.a,
    b: a ? state.days : usual.b,
    where_a: filters(query, "where_a"),
    where_b: filters(query, "where_b"),
  };
}

type Parts = Record<string, string | readonly string[] | undefined>;

export function apiPath(path: string, parts: Parts): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parts)) {
    if (value === undefined || value === "") continue;
    for (const one of typeof value === "string" ? [value] : value) search.append(name, one);
  }
  const text = search.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

/** The path of a /fleet/ question, or null as long as the period is not known. */
export function fleetPath(
  name: string,
  state: FleetState,
  parts: Parts = {},
  days: Period | null = state.days,
): string | null {
  if (!days) return null;
  return apiPath(`/fleet/${name}`, {
    from: days.from,
    to: days.to,
    where: state.where,
    weight: state.weight === "job" ? "job" : undefined,
    ...parts,
  });
}

/** Both cohorts carry the view's own filters, so that they hold whatever the two are told apart by. */
export function waterfallPath(state: FleetState, wf: WaterfallState): string {
  return apiPath("/fleet/waterfall", {
    metric: wf.metric,
    split: wf.split,
    weight: state.weight === "job" ? "job" : undefined,
    from_a: wf.a.from,
    to_a: wf.a.to,
    from_b: wf.b.from,
    to_b: wf.b.to,
    where_a: [...state.where, ...wf.where_a],
    where_b: [...state.where, ...wf.where_b],
  });
}
