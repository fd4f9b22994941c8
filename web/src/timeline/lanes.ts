// Segments of lanes as sorted arrays, what is visible of them, and the pixels that stand for it. Pure.

import type { TimelineAnswer } from "../api/types";
import { BUCKETS, bucketOf } from "../model/buckets";
import type { Window } from "./window";

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

/** One row for the job's own path, then one for each rank; attempts lie behind each other in them. */
export function rowsOf(lanes: readonly Lane[]): Row[] {
  const rows = new Map<number, Row>();
  for (const lane of lanes) {
    const key = lane.rank ?? -1;
    const row = rows.get(key) ?? { rank: lane.rank, lanes: [] };
    rows.set(key, row);
    row.lanes.push(lane);
  }
  const sorted = [...rows].sort(([x], [y]) => x - y).map(([, row]) => row);
  for (const row of sorted) row.lanes.sort((x, y) => (x.start[0] ?? 0) - (y.start[0] ?? 0));
  return sorted;
}

/** A pixel in which several segments lie shows the bucket that fills most of it. */
export class Rasteriser {
  private readonly weight = new Float64Array(256);
  private readonly used: number[] = [];
  private pixel = -1;

  /**
   * Writes the colours of a lane into `out[offset … offset + width)`. `gap` is written before a
   * segment that is wide enough to spare a pixel, so that neighbours of one group can be told apart.
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
    const scale = width / (window.to - window.from);
    const count = lane.start.length;
    let drawn = 0;
    this.pixel = -1;
    for (let i = firstAfter(lane.end, window.from); i < count; ++i) {
      const start = lane.start[i] as number;
      if (start >= window.to) break;
      drawn += 1;
      const x0 = Math.max(0, (start - window.from) * scale);
      const x1 = Math.min(width, ((lane.end[i] as number) - window.from) * scale);
      const bucket = lane.bucket[i] as number;
      const first = Math.floor(x0);
      const last = Math.min(width - 1, Math.floor(x1));
      if (first === last) {
        this.add(first, bucket, x1 - x0, palette, out, offset);
        continue;
      }
      this.add(first, bucket, first + 1 - x0, palette, out, offset);
      if (last - first > 1) out.fill(palette[bucket] as number, offset + first + 1, offset + last);
      if (last - first > 5) out[offset + first + 1] = gap;
      this.add(last, bucket, x1 - last, palette, out, offset);
    }
    this.flush(palette, out, offset);
    return drawn;
  }

  private add(
    pixel: number,
    bucket: number,
    weight: number,
    palette: Uint32Array,
    out: Uint32Array,
    offset: number,
  ): void {
    if (pixel !== this.pixel) {
      this.flush(palette, out, offset);
      this.pixel = pixel;
    }
    if (weight <= 0) return;
    if (this.weight[bucket] === 0) this.used.push(bucket);
    this.weight[bucket] = (this.weight[bucket] as number) + weight;
  }

  private flush(palette: Uint32Array, out: Uint32Array, offset: number): void {
    let best = -1;
    let most = 0;
    for (const bucket of this.used) {
      const weight = this.weight[bucket] as number;
      if (weight > most) {
        most = weight;
        best = bucket;
      }
      this.weight[bucket] = 0;
    }
    this.used.length = 0;
    if (best >= 0 && this.pixel >= 0) out[offset + this.pixel] = palette[best] as number;
  }
}
