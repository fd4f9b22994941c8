import { describe, expect, test } from "vitest";
import { daysRange, onlyValue } from "../../src/model/axis";

describe("a chart by day", () => {
  const day_s = Date.parse("2026-11-19") / 1000;
  test("reaches from the first day to the last", () => {
    const days_s = [day_s, day_s + 86_400, day_s + 3 * 86_400];
    expect(daysRange(days_s)).toEqual([day_s, day_s + 3 * 86_400]);
  });
  test("of one day is a day wide, with it in the middle", () => {
    expect(daysRange([day_s])).toEqual([day_s - 43_200, day_s + 43_200]);
  });
  test("draws a point where a line has one value", () => {
    expect(onlyValue([null, 3, null])).toBe(1);
    expect(onlyValue([0])).toBe(0);
    expect(onlyValue([1, null, 2])).toBeNull();
    expect(onlyValue([null])).toBeNull();
    expect(onlyValue([])).toBeNull();
  });
});
