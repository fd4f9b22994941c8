import { describe, expect, test } from "vitest";
import type { TimelineAnswer } from "../../src/api/types";
import { BUCKETS } from "../../src/model/buckets";
import {
  decode,
  firstAfter,
  type Lane,
  Rasteriser,
  rowsOf,
  segmentAt,
} from "../../src/timeline/lanes";
import { SEED, random } from "../fixture/random.mjs";

const EFFECTIVE = BUCKETS.findIndex((bucket) => bucket.name === "effective");
const DOWN = BUCKETS.findIndex((bucket) => bucket.name === "down");

function lane(segments: [number, number, number][], rank: number | null = 0): Lane {
  return {
    attempt: 1,
    rank,
    host: "h",
    start: Float64Array.from(segments, ([start]) => start),
    end: Float64Array.from(segments, ([, end]) => end),
    bucket: Uint8Array.from(segments, ([, , bucket]) => bucket),
    exact: true,
  };
}

/** Neighbours that touch, and gaps, of all sizes. */
function randomLane(r: ReturnType<typeof random>, count: number): Lane {
  const segments: [number, number, number][] = [];
  let t = 0;
  for (let i = 0; i < count; ++i) {
    if (r.chance(0.2)) t += r.exponential(50);
    const end = t + Math.max(1, r.exponential(r.chance(0.1) ? 2000 : 40));
    segments.push([t, end, Math.floor(r.next() * BUCKETS.length)]);
    t = end;
  }
  return lane(segments);
}

describe("search in a lane", () => {
  const one = lane([
    [10, 20, 1],
    [20, 30, 2],
    [50, 60, 3],
  ]);
  test.each([
    [0, 0],
    [10, 0],
    [19, 0],
    [20, 1],
    [30, 2],
    [59, 2],
    [60, 3],
  ])("the first that ends after %s is %s", (at, i) => expect(firstAfter(one.end, at)).toBe(i));
  test.each([
    [5, -1],
    [10, 0],
    [20, 1],
    [40, -1],
    [55, 2],
    [60, -1],
  ])("at %s lies %s", (at, i) => expect(segmentAt(one, at)).toBe(i));

  test(`as a walk finds it, seed ${SEED}`, () => {
    const r = random(SEED);
    const big = randomLane(r, 500);
    for (let n = 0; n < 500; ++n) {
      const at = r.between(-10, (big.end.at(-1) ?? 0) + 10);
      const walked = Array.from(big.start).findIndex((s, i) => s <= at && (big.end[i] ?? 0) > at);
      expect(segmentAt(big, at)).toBe(walked);
    }
  });
});

describe("pixels", () => {
  const palette = Uint32Array.from(BUCKETS, (_, i) => i + 1);
  const draw = (one: Lane, from: number, to: number, width: number): number[] => {
    const out = new Uint32Array(width);
    new Rasteriser().draw(one, { from, to }, width, palette, 99, out, 0);
    return [...out];
  };
  test("wide segments fill their pixels, and nothing stays nothing", () => {
    const one = lane([
      [0, 20, 3],
      [40, 60, 4],
    ]);
    expect(draw(one, 0, 100, 10)).toEqual([4, 4, 0, 0, 5, 5, 0, 0, 0, 0]);
  });
  test("a pixel shows what fills most of it, added up", () => {
    const one = lane([
      [0, 3, 1],
      [3, 7, 2],
      [7, 10, 1],
      [10, 14, 2],
      [14, 20, 3],
    ]);
    expect(draw(one, 0, 20, 2)).toEqual([2, 4]);
  });
  test("a window cuts what reaches out of it", () => {
    expect(draw(lane([[0, 1000, 7]]), 400, 410, 4)).toEqual([8, 8, 8, 8]);
  });
  test(`every pixel as a slow reckoning says, seed ${SEED}`, () => {
    const r = random(SEED + 1);
    for (let n = 0; n < 20; ++n) {
      const one = randomLane(r, 400);
      const end = one.end.at(-1) ?? 1;
      const from = r.between(0, end * 0.8);
      const to = from + r.between(end * 0.01, end * 0.5);
      const width = Math.floor(r.between(3, 200));
      const out = draw(one, from, to, width);
      const size = (to - from) / width;
      for (let x = 0; x < width; ++x) {
        if (out[x] === 99) continue;
        const weights = new Float64Array(BUCKETS.length);
        one.start.forEach((s, i) => {
          const left = Math.max(s, from + x * size);
          const right = Math.min(one.end[i] ?? 0, from + (x + 1) * size);
          const bucket = one.bucket[i] ?? 0;
          if (right > left) weights[bucket] = (weights[bucket] ?? 0) + right - left;
        });
        const most = Math.max(...weights);
        const shown = (out[x] ?? 0) - 1;
        if (shown < 0) expect(most).toBeLessThan(size * 1e-6);
        else expect(weights[shown]).toBeGreaterThan(most - size * 1e-6);
      }
    }
  });
  test("looks only at what is visible", () => {
    const big = randomLane(random(3), 10_000);
    const out = new Uint32Array(100);
    const end = big.end.at(-1) ?? 1;
    const looked = new Rasteriser().draw(
      big,
      { from: end * 0.5, to: end * 0.501 },
      100,
      palette,
      0,
      out,
      0,
    );
    expect(looked).toBeGreaterThan(0);
    expect(looked).toBeLessThan(200);
  });
});

test("answers are decoded by the names of their buckets", () => {
  const answer: TimelineAnswer = {
    from_ns: 2000,
    to_ns: 4000,
    begin_ns: 1000,
    end_ns: 9000,
    buckets: ["down", "effective", "something_new"],
    lanes: [
      { attempt: 2, rank: 1, host: "h", start: [0, 500], end: [500, 900], b: [1, 0], exact: true },
      { attempt: 1, rank: null, host: "", start: [0], end: [10], b: [2], exact: false },
      { attempt: 1, rank: 0, host: "h", start: [], end: [], b: [], exact: false },
    ],
    checkpoints: [{ t_ns: 3000, step: 7, state: "durable", attempt: 1 }],
    failures: [
      { t_ns: 3500, attempt: 1, rank: 0, origin: "infra", category: "xid", reason: "fell" },
    ],
    ranks: 2,
    ranks_shown: 2,
    complete: true,
  };
  const layer = decode(answer);
  expect(layer.window).toEqual({ from: 1000, to: 3000 });
  expect(layer.whole).toEqual({ from: 0, to: 8000 });
  expect([...(layer.lanes[0]?.start ?? [])]).toEqual([1000, 1500]);
  expect([...(layer.lanes[0]?.bucket ?? [])]).toEqual([EFFECTIVE, DOWN]);
  expect(layer.failures[0]).toMatchObject({ at: 2500, text: "xid: fell" });
  expect(layer.segments).toBe(3);
  expect(rowsOf(layer.lanes).map((row) => row.rank)).toEqual([null, 1, 0]);
});
