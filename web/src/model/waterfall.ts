// Where the bars of a waterfall stand: from one value over its steps to another. Pure.

import type { Waterfall, WaterfallStep } from "../api/types";
import { bucketOf } from "./buckets";

export interface Bar {
  name: string;
  label: string;
  kind: "end" | "better" | "worse" | "rest";
  /** Shares of the plot's width. */
  from: number;
  to: number;
  value: number;
  /** Where the step's end may lie, or null. */
  low: number | null;
  high: number | null;
  /** How many steps this one stands for. */
  steps: number;
  /** Its range does not reach over zero. */
  sure: boolean;
}

const STEPS_MAX = 12;
/** Steps smaller than this share of the largest are told together. */
const SMALL = 0.02;

/** ETT% is better when it grows, times when they shrink. */
export function growsBetter(metric: string): boolean {
  return metric === "ett_pct";
}

interface Step {
  name: string;
  label: string;
  delta: number;
  low: number | null;
  high: number | null;
  steps: number;
}

/** The bucket's name as everywhere on the page. */
export function stepLabel(step: WaterfallStep): string {
  return (step.kind === "component" && bucketOf(step.name)?.label) || step.label;
}

function kept(wf: Waterfall): Step[] {
  const sorted = [...wf.steps].sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta));
  const largest = Math.abs(sorted[0]?.delta ?? 0);
  const large = sorted.filter(
    (step, i) => i < STEPS_MAX && Math.abs(step.delta) >= largest * SMALL,
  );
  const small = sorted.filter((step) => !large.includes(step));
  const steps: Step[] = large.map((step) => ({ ...step, label: stepLabel(step), steps: 1 }));
  if (small.length === 1 && small[0]) steps.push({ ...small[0], steps: 1 });
  if (small.length > 1) {
    const delta = small.reduce((sum, step) => sum + step.delta, 0);
    steps.push({
      name: "rest",
      label: `${small.length} smaller`,
      delta,
      low: null,
      high: null,
      steps: small.length,
    });
  }
  return steps;
}

/** Empty where one of the two sides has no value. The two ends are points: a bar would claim a zero. The axis is cut to where something happens. */
export function waterfallBars(wf: Waterfall): Bar[] {
  const { a, b } = wf;
  if (a.value === null || b.value === null) return [];
  const steps = kept(wf);
  const edges = [a.value, b.value];
  let at = a.value;
  for (const step of steps) {
    if (step.low !== null) edges.push(at + step.low);
    if (step.high !== null) edges.push(at + step.high);
    at += step.delta;
    edges.push(at);
  }
  const low = Math.min(...edges);
  const high = Math.max(...edges);
  const room = Math.max((high - low) * 0.08, Math.abs(high) * 1e-6, 1e-9);
  const axis_low = low - room < 0 && low >= 0 ? 0 : low - room;
  const scale = (x: number): number => (x - axis_low) / (high + room - axis_low);
  const bars: Bar[] = [end("a", "before", a.value, scale)];
  at = a.value;
  for (const step of steps) {
    const next = at + step.delta;
    bars.push({
      name: step.name,
      label: step.label,
      kind: step.delta > 0 === growsBetter(wf.metric) ? "better" : "worse",
      from: scale(Math.min(at, next)),
      to: scale(Math.max(at, next)),
      value: step.delta,
      low: step.low === null ? null : scale(at + step.low),
      high: step.high === null ? null : scale(at + step.high),
      steps: step.steps,
      sure: step.low !== null && step.high !== null && step.low * step.high > 0,
    });
    at = next;
  }
  bars.push(end("b", "after", b.value, scale));
  return bars;
}

function end(name: string, label: string, value: number, scale: (x: number) => number): Bar {
  return {
    name,
    label,
    kind: "end",
    from: scale(value),
    to: scale(value),
    value,
    low: null,
    high: null,
    steps: 0,
    sure: true,
  };
}
