// What moved the fleet's ETT% and is no regression: a wave of preemptions, other jobs than before.
// Pure: from the same answers that the panels show.

import type { Group, Waterfall } from "../api/types";
import { points } from "./format";

export interface Wave {
  from: string;
  last: string;
  preemptions: number;
  /** A usual day's. */
  usual: number;
}

const WAVE_MIN = 8;
/** A day of a wave has this many times what is usual, and one. */
const WAVE_TIMES = 4;

/** The largest run of days with far more preemptions than usual; days in order. */
export function preemptionWave(days: readonly Group[]): Wave | null {
  const counts = days.map((day) => day.preemptions);
  const usual = [...counts].sort((x, y) => x - y)[counts.length >> 1] ?? 0;
  let best: Wave | null = null;
  let run: Wave | null = null;
  for (const day of days) {
    if (day.preemptions < WAVE_TIMES * (usual + 1)) {
      run = null;
      continue;
    }
    const at = day.key["day"] ?? "";
    run ??= { from: at, last: at, preemptions: 0, usual };
    run.last = at;
    run.preemptions += day.preemptions;
    if (!best || run.preemptions >= best.preemptions) best = run;
  }
  return best && best.preemptions >= WAVE_MIN ? best : null;
}

export interface Shift {
  /** Points of ETT%. */
  delta: number;
  /** The family whose share changed most, in percent of device-hours. */
  family: string;
  share: number;
  share_before: number;
}

const SHIFT_MIN = 0.3;

/** Other jobs than before, where they surely moved the whole by something. */
export function mixShift(
  waterfall: Waterfall,
  families: readonly Group[],
  families_before: readonly Group[],
): Shift | null {
  const step = waterfall.steps.find((one) => one.kind === "mix");
  if (!step || Math.abs(step.delta) < SHIFT_MIN || step.low === null || step.high === null)
    return null;
  if (step.low <= 0 && step.high >= 0) return null;
  const [now, past] = [sharesOf(families), sharesOf(families_before)];
  let shift: Shift | null = null;
  for (const family of new Set([...now.keys(), ...past.keys()])) {
    const [share, share_before] = [now.get(family) ?? 0, past.get(family) ?? 0];
    if (shift && Math.abs(share - share_before) <= Math.abs(shift.share - shift.share_before))
      continue;
    shift = { delta: step.delta, family, share, share_before };
  }
  return shift;
}

function sharesOf(groups: readonly Group[]): Map<string, number> {
  const whole = groups.reduce((sum, group) => sum + group.device_hours, 0);
  return new Map(
    groups.map((group) => [group.key["family"] ?? "", (100 * group.device_hours) / (whole || 1)]),
  );
}

export function shiftText(shift: Shift): string {
  const share = (x: number): string => `${Math.round(x)}%`;
  return `Other jobs ran than in the period before: ${points(shift.delta)} of ETT. ${shift.family || "(no family)"} has ${share(shift.share)} of the device-hours, it had ${share(shift.share_before)}.`;
}
