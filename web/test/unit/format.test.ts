import { describe, expect, test } from "vitest";
import {
  ago,
  attemptText,
  besideFailures,
  bytes,
  dayText,
  deltaExact,
  deltaInUnit,
  duration,
  durationInColumn,
  instant,
  inUnit,
  isNothing,
  keyText,
  number3,
  percent,
  points,
} from "../../src/model/format";

const plain = (text: string): string => text.replaceAll("\u202f", " ");

describe("numbers", () => {
  test.each([
    [0, "0"],
    [1, "1"],
    [2.5, "2.5"],
    [0.1234, "0.123"],
    [12.345, "12.3"],
    [99.96, "100"],
    [999.4, "999"],
    [999.6, "1,000"],
    [1234567.8, "1,234,568"],
    [-31.74, "−31.7"],
    [0.0001, "<0.001"],
    [null, "–"],
    [Number.NaN, "–"],
  ])("%s is %s", (x, text) => expect(number3(x)).toBe(text));

  test("three significant digits at most, below a thousand", () => {
    for (let x = 0.01; x < 999; x *= 1.37) {
      const digits = number3(x)
        .replace(/^0\.0*/, "")
        .replace(/\D/g, "");
      expect(digits.length, number3(x)).toBeLessThanOrEqual(3);
      expect(Math.abs(Number(number3(x)) - x)).toBeLessThanOrEqual(Math.max(x * 0.005, 0.0005));
    }
  });
});

describe("durations", () => {
  test.each([
    [0, "0 s"],
    [0.0000005, "500 ns"],
    [0.0123, "12.3 ms"],
    [1, "1 s"],
    [90, "90 s"],
    [262, "4.37 min"],
    [5400, "90 min"],
    [86400, "24 h"],
    [190000, "2.2 d"],
    [-90, "−90 s"],
    [null, "–"],
  ])("%s s is %s", (s, text) => expect(plain(duration(s))).toBe(text));
});

test("in a column all have as many digits", () => {
  const column = [480, 456, 485.4, 90, 1110, 0, null, -480].map((s) => plain(durationInColumn(s)));
  expect(column).toEqual([
    "8.00 min",
    "7.60 min",
    "8.09 min",
    "90.0 s",
    "18.5 min",
    "0 s",
    "–",
    "−8.00 min",
  ]);
});

test("what is told as nothing is neither better nor worse", () => {
  expect([0.04, -0.04, 0].map((x) => isNothing(x, "pct"))).toEqual([true, true, true]);
  expect([0.06, -10].map((x) => isNothing(x, "pct"))).toEqual([false, false]);
  expect(isNothing(0, "s")).toBe(true);
  expect(isNothing(0.5, "s")).toBe(false);
});

test("user errors are told beside failures, where there are any", () => {
  expect([0, 1, 12].map(besideFailures)).toEqual(["", "+ 1 user error", "+ 12 user errors"]);
});

test("shares have one decimal, and no minus zero", () => {
  expect(percent(100)).toBe("100.0%");
  expect(percent(99.967)).toBe(">99.9%");
  expect(percent(99.94)).toBe("99.9%");
  expect(percent(87.752)).toBe("87.8%");
  expect(percent(-0.01)).toBe("0.0%");
  expect(points(-4.46)).toBe("−4.5 points");
  expect(points(0.2)).toBe("+0.2 points");
  expect(points(0.01)).toBe("0.0 points");
  expect(deltaExact(-0.0312, "pct")).toBe("−0.031 points");
  expect(deltaExact(-0.0001, "pct")).toBe(">−0.001 points");
});

test("by the unit of the wire", () => {
  expect(inUnit(12.34, "pct")).toBe("12.3%");
  expect(plain(inUnit(300, "s"))).toBe("5 min");
  expect(plain(inUnit(1.5e9, "ns"))).toBe("1.5 s");
  expect(inUnit(2.345, "per 1000 device-hours")).toBe("2.35");
  expect(plain(deltaInUnit(-75, "s"))).toBe("−75 s");
  expect(deltaInUnit(1.25, "")).toBe("+1.25");
});

test("days and instants are UTC", () => {
  expect(dayText("2026-11-09")).toBe("9 Nov");
  expect(dayText("nonsense")).toBe("–");
  const t_ns = Date.parse("2026-11-09T23:59:58Z") * 1e6;
  expect(instant(t_ns)).toBe("9 Nov 23:59");
  expect(instant(t_ns, true)).toBe("9 Nov 23:59:58");
  expect(plain(ago(t_ns, t_ns + 262e9))).toBe("4.37 min ago");
  expect(ago(t_ns + 5e9, t_ns)).toBe("just now");
});

test("attempts, keys and bytes", () => {
  expect(attemptText(3)).toBe("3");
  expect(attemptText(65537)).toBe("1.1");
  expect(keyText({})).toBe("whole fleet");
  expect(keyText({ family: "dlrm", team: "" })).toBe("dlrm · no team");
  expect(plain(bytes(412_000_000))).toBe("412 MB");
});
