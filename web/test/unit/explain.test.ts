import { describe, expect, test } from "vitest";
import type { Group, Waterfall } from "../../src/api/types";
import { mixShift, preemptionWave, shiftText } from "../../src/model/explain";

const days = (counts: number[]): Group[] =>
  counts.map(
    (preemptions, i) => ({ key: { day: `2026-10-${10 + i}` }, preemptions }) as unknown as Group,
  );
const families = (hours: Record<string, number>): Group[] =>
  Object.entries(hours).map(
    ([family, device_hours]) => ({ key: { family }, device_hours }) as unknown as Group,
  );
const waterfall = (delta: number, low: number | null, high: number | null): Waterfall =>
  ({ steps: [{ kind: "mix", delta, low, high }] }) as unknown as Waterfall;

describe("a wave of preemptions", () => {
  test("is the largest run of days far above the usual one", () => {
    expect(preemptionWave(days([1, 0, 9, 21, 16, 2, 0, 1, 1, 8, 1, 0, 1]))).toEqual({
      from: "2026-10-12",
      last: "2026-10-14",
      preemptions: 46,
      usual: 1,
    });
  });
  test("is none where days are alike, or few were preempted", () => {
    expect(preemptionWave(days([9, 12, 8, 10, 11]))).toBeNull();
    expect(preemptionWave(days([0, 0, 5, 0, 0]))).toBeNull();
    expect(preemptionWave([])).toBeNull();
  });
});

describe("a shift of the mix", () => {
  test("names the family whose share changed most", () => {
    const shift = mixShift(
      waterfall(-1.26, -1.6, -0.9),
      families({ "llm-7b": 46, ctr: 54 }),
      families({ "llm-7b": 20, ctr: 60, old: 20 }),
    );
    expect(shift).toEqual({ delta: -1.26, family: "llm-7b", share: 46, share_before: 20 });
    expect(shift && shiftText(shift)).toBe(
      "Other jobs ran than in the period before: −1.3 points of ETT. llm-7b has 46% of the device-hours, it had 20%.",
    );
  });
  test("is none where it is small, or may be nothing", () => {
    expect(mixShift(waterfall(-0.1, -0.2, -0.05), [], [])).toBeNull();
    expect(mixShift(waterfall(-1, -2.2, 0.2), [], [])).toBeNull();
    expect(mixShift(waterfall(-1, null, null), [], [])).toBeNull();
  });
});
