// Segments of lanes as sorted arrays, what is visible of them, and the pixels that stand for it. Pure.

import type { TimelineAnswer } from "../api/types";
import { BUCKETS, bucketOf } from "../model/buckets";
import { clamped, type Window } from "./window";

/** Offsets in ns from the job's begin; sorted, not overlapping. */
export interface Lane {
  attempt: number;
  rank: number | null;
  host: string;
  start: Float64Array;
  end: Float64Array;
  /** Indices into BUCKETS. */
  bucket: Uint8Array;
  exact: boolean;
}

export interface Mark {
  at: number;
  attempt: number;
  text: string;
}

/** An answer of the collector, ready to be drawn. */
export interface Layer {
  window: Window;
  whole: Window;
  begin_ns: number;
  lanes: Lane[];
  checkpoints: Mark[];
  failures: (Mark & { rank: number | null; origin: string })[];
  ranks: number;
  ranks_shown: number;
  complete: boolean;
  segments: number;
}

const OTHER = BUCKETS.findIndex((bucket) => bucket.name === "wasted_other");

export function decode(answer: TimelineAnswer): Layer {
  const known = answer.buckets.map((name) => {
    const bucket = bucketOf(name);
    return bucket ? BUCKETS.indexOf(bucket) : OTHER;
  });
  const shift = answer.from_ns - answer.begin_ns;
  const lanes = answer.lanes.map((lane) => ({
    attempt: lane.attempt,
    rank: lane.rank,
    host: lane.host,
    start: Float64Array.from(lane.start, (t) => t + shift),
    end: Float64Array.from(lane.end, (t) => t + shift),
    bucket: Uint8Array.from(lane.b, (b) => known[b] ?? OTHER),
    exact: lane.exact,
  }));
  return {
    window: { from: shift, to: answer.to_ns - answer.begin_ns },
    whole: { from: 0, to: Math.max(1, answer.end_ns - answer.begin_ns) },
    begin_ns: answer.begin_ns,
    lanes,
    checkpoints: answer.checkpoints.map((one) => ({
      at: one.t_ns - answer.begin_ns,
      attempt: one.attempt,
      text: `checkpoint of step ${one.step}, ${one.state}`,
    })),
    failures: answer.failures.map((one) => ({
      at: one.t_ns - answer.begin_ns,
      attempt: one.attempt,
      rank: one.rank,
      origin: one.origin,
      text: [one.category ?? one.origin, one.reason].filter(Boolean).join(": "),
    })),
    ranks: answer.ranks,
    ranks_shown: answer.ranks_shown,
    complete: answer.complete,
    segments: lanes.reduce((sum, lane) => sum + lane.bucket.length, 0),
  };
}

/** The first segment that ends after `at`: its index, or the number of segments. */
export function firstAfter(end: Float64Array, at: number): number {
  let low = 0;
  let high = end.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((end[middle] as number) > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The segment at an instant, or -1. */
export function segmentAt(lane: Lane, at: number): number {
  const i = firstAfter(lane.end, at);
  return i < lane.start.length && (lane.start[i] as number) <= at ? i : -1;
}

export interface Row {
  rank: number | null;
  lanes: Lane[];
}

/** One row for the job's own path, then one for each rank, in the answer's order: where not all are
 * shown, those that matter most come first. Attempts lie behind each other in them. */
export function rowsOf(lanes: readonly Lane[]): Row[] {
  const rows = new Map<number, Row>();
  for (const lane of lanes) {
    const key = lane.rank ?? -1;
    const row = rows.get(key) ?? { rank: lane.rank, lanes: [] };
    rows.set(key, row);
    row.lanes.push(lane);
  }
  const sorted = [...rows.values()].sort(
    (x, y) => Number(x.rank !== null) - Number(y.rank !== null),
  );
  for (const row of sorted) row.lanes.sort((x, y) => (x.start[0] ?? 0) - (y.start[0] ?? 0));
  return sorted;
}

/** Where an attempt lies, with a little room beside it; all of the job where there is no such one. */
export function attemptWindow(layer: Layer, attempt: number): Window {
  const own = layer.lanes.find((lane) => lane.attempt === attempt && lane.start.length > 0);
  if (!own) return layer.whole;
  const from = own.start[0] as number;
  const to = own.end.at(-1) as number;
  const room = (to - from) * 0.03;
  return clamped({ from: from - room, to: to + room }, layer.whole);
}

/** A pixel in which several segments lie shows the bucket that fills most of it. */
export class Rasteriser {
  private readonly weight = new Float64Array(256);
  private readonly used = new Uint8Array(256);

  /**
   * Writes the colours of a lane into `out[offset … offset + width)` and says how many segments it
   * looked at. `gap` is written before a segment that is wide enough to spare a pixel, so that
   * neighbours of one group can be told apart. One loop without calls: it runs over every visible
   * segment of every lane in each frame.
   */
  draw(
    lane: Lane,
    window: Window,
    width: number,
    palette: Uint32Array,
    gap: number,
    out: Uint32Array,
    offset: number,
  ): number {
    const { start, end, bucket: buckets } = lane;
    const { weight, used } = this;
    const { from, to } = window;
    const scale = width / (to - from);
    const first = firstAfter(end, from);
    let uses = 0;
    let pixel = -1;
    let i = first;
    for (; i < start.length; ++i) {
      const begin = start[i] as number;
      if (begin >= to) break;
      const bucket = buckets[i] as number;
      let x0 = (begin - from) * scale;
      if (x0 < 0) x0 = 0;
      let x1 = ((end[i] as number) - from) * scale;
      if (x1 > width) x1 = width;
      const p0 = x0 | 0;
      const p1 = x1 | 0;
      if (p0 !== pixel) {
        if (uses > 0) out[offset + pixel] = palette[this.heaviest(uses)] as number;
        uses = 0;
        pixel = p0;
      }
      if (weight[bucket] === 0) used[uses++] = bucket;
      if (p0 === p1) {
        weight[bucket] = (weight[bucket] as number) + (x1 - x0);
        continue;
      }
      weight[bucket] = (weight[bucket] as number) + (p0 + 1 - x0);
      out[offset + p0] = palette[this.heaviest(uses)] as number;
      const own = palette[bucket] as number;
      for (let x = p0 + 1; x < p1; ++x) out[offset + x] = own;
      if (p1 - p0 > 5) out[offset + p0 + 1] = gap;
      uses = 0;
      pixel = p1;
      if (x1 > p1) {
        weight[bucket] = x1 - p1;
        used[uses++] = bucket;
      }
    }
    if (uses > 0 && pixel < width) out[offset + pixel] = palette[this.heaviest(uses)] as number;
    return i - first;
  }

  /** The bucket with the largest weight of those used; all weights are 0 again. */
  private heaviest(uses: number): number {
    const { weight, used } = this;
    let best = used[0] as number;
    let most = weight[best] as number;
    weight[best] = 0;
    for (let n = 1; n < uses; ++n) {
      const bucket = used[n] as number;
      if ((weight[bucket] as number) > most) {
        most = weight[bucket] as number;
        best = bucket;
      }
      weight[bucket] = 0;
    }
    return best;
  }
}
