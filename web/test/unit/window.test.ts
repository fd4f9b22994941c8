import { describe, expect, test } from "vitest";
import { keyed } from "../../src/timeline/keys";
import {
  clamped,
  panned,
  parseWindow,
  SPAN_MIN_NS,
  span,
  ticks,
  tickText,
  windowText,
  zoomed,
} from "../../src/timeline/window";
import { random, SEED } from "../fixture/random.mjs";

const whole = { from: 0, to: 30 * 86400e9 };

describe("zoom and pan", () => {
  test("the instant under the mouse stays where it is", () => {
    const window = { from: 1e15, to: 1.2e15 };
    const next = zoomed(window, 0.5, 0.25, whole);
    expect(next.from + span(next) * 0.25).toBeCloseTo(1.05e15, -3);
    expect(span(next)).toBeCloseTo(1e14, -3);
  });
  test("from weeks to a millisecond and back", () => {
    let window = whole;
    for (let n = 0; n < 200; ++n) window = zoomed(window, 0.7, 0.6, whole);
    expect(span(window)).toBeCloseTo(SPAN_MIN_NS, 0);
    for (let n = 0; n < 200; ++n) window = zoomed(window, 1.5, 0.3, whole);
    expect(window).toEqual(whole);
  });
  test(`never outside of the job, seed ${SEED}`, () => {
    const r = random(SEED);
    let window = whole;
    for (let n = 0; n < 2000; ++n) {
      window = r.chance(0.5)
        ? zoomed(window, r.between(0.2, 4), r.next(), whole)
        : panned(window, r.between(-3, 3), whole);
      expect(window.from).toBeGreaterThanOrEqual(whole.from);
      expect(window.to).toBeLessThanOrEqual(whole.to);
      expect(span(window)).toBeGreaterThan(SPAN_MIN_NS * 0.99);
    }
  });
  test("a job shorter than the smallest window is shown whole", () => {
    expect(clamped({ from: 0, to: 5 }, { from: 0, to: 100 })).toEqual({ from: 0, to: 100 });
  });
});

test("a window in an address", () => {
  expect(windowText(whole, whole)).toBeNull();
  expect(parseWindow(undefined, whole)).toEqual(whole);
  expect(parseWindow("5-3", whole)).toEqual(whole);
  expect(parseWindow("a-b", whole)).toEqual(whole);
  const window = { from: 86400e9, to: 86460e9 };
  expect(parseWindow(windowText(window, whole) ?? "", whole)).toEqual(window);
});

describe("ticks", () => {
  const begin_ns = Date.parse("2026-11-03T02:06:43.250Z") * 1e6;
  test("stand at round instants, and not too many", () => {
    const { at, step_s } = ticks(whole, begin_ns, 10);
    expect(step_s).toBe(345600);
    expect(at.length).toBeLessThanOrEqual(11);
    for (const offset of at)
      expect((begin_ns + offset) / 1e9 / step_s).toBeCloseTo(
        Math.round((begin_ns + offset) / 1e9 / step_s),
        6,
      );
  });
  test("down to milliseconds", () => {
    const { at, step_s } = ticks({ from: 1e9, to: 1e9 + 8e6 }, begin_ns, 8);
    expect(step_s).toBe(1e-3);
    expect(tickText(at[0] ?? 0, begin_ns, step_s)).toBe("44.250 s");
    expect(tickText(at[1] ?? 0, begin_ns, step_s)).toBe("44.251 s");
  });
  test("say as much as is needed", () => {
    const midnight = Date.parse("2026-11-04") * 1e6 - begin_ns;
    expect(tickText(midnight, begin_ns, 86400)).toBe("4 Nov");
    expect(tickText(midnight, begin_ns, 3600)).toBe("4 Nov");
    expect(tickText(midnight + 3600e9, begin_ns, 3600)).toBe("01:00");
    expect(tickText(midnight + 61e9, begin_ns, 1)).toBe("00:01:01");
  });
});

describe("keys", () => {
  const standing = { window: { from: 4e14, to: 6e14 }, whole, failures: [1e14, 4.9e14, 5.5e14] };
  test("go in, out, sideways and home", () => {
    expect(span(keyed("+", standing) ?? whole)).toBe(1e14);
    expect(span(keyed("-", standing) ?? whole)).toBe(4e14);
    expect(keyed("ArrowLeft", standing)?.from).toBe(3.6e14);
    expect(keyed("0", standing)).toEqual(whole);
    expect(keyed("x", standing)).toBeNull();
  });
  test("go to failures", () => {
    const middle = (key: string): number | undefined => {
      const next = keyed(key, standing);
      return next ? (next.from + next.to) / 2 : undefined;
    };
    expect(middle("]")).toBe(5.5e14);
    expect(middle("[")).toBe(4.9e14);
    expect(keyed("]", { ...standing, failures: [] })).toBeNull();
  });
});
