import { describe, expect, test } from "vitest";
import type { Regression } from "../../src/api/types";
import { marksOf, marksOn, markWords } from "../../src/model/marks";
import { trendWords } from "../../src/model/trend_words";

const DAYS = { from: "2026-11-01", to: "2026-11-11" };
const one = (day: string, more: Partial<Regression> = {}): Regression => ({
  id: 1,
  component: "compile_warm",
  label: "warm compile",
  stratum: { family: "dlrm-ctr" },
  began_ns: Date.parse(`${day}T09:30:00Z`) * 1e6,
  began_low_ns: 0,
  began_high_ns: 0,
  found_ns: 0,
  before: 1,
  after: 2,
  unit: "s",
  change_pct: 100,
  device_hours_per_day: 10,
  q_value: 0.001,
  state: "open",
  acknowledged: null,
  terms: [],
  dip_pct: null,
  separates: [],
  attempts: [],
  time_to_alert_s: null,
  ...more,
});

describe("marks on a trend", () => {
  test("those that began on a day on show, its first included and its end not", () => {
    const days = ["2026-10-31", "2026-11-01", "2026-11-10", "2026-11-11"];
    const marks = marksOf(
      days.map((day) => one(day)),
      DAYS,
      [],
    );
    expect(marks.map((mark) => mark.day)).toEqual(["2026-11-01", "2026-11-10"]);
    expect(marks[0]?.t_s).toBe(Date.UTC(2026, 10, 1) / 1000);
    expect(marksOf([one("2026-11-02")], null, [])).toEqual([]);
  });

  test("filters leave out what is about other values", () => {
    const all = [one("2026-11-02"), one("2026-11-03", { stratum: { family: "llm-7b" } })];
    expect(marksOf(all, DAYS, ["family:llm-7b"]).map((mark) => mark.day)).toEqual(["2026-11-03"]);
    expect(marksOf(all, DAYS, ["team:ads"])).toHaveLength(2);
  });

  test("words name component, stratum and what became of it; what is open weighs more", () => {
    const marks = marksOf(
      [
        one("2026-11-05", { state: "gone", device_hours_per_day: 500 }),
        one("2026-11-03", { state: "acknowledged" }),
        one("2026-11-04"),
      ],
      DAYS,
      [],
    );
    expect(marks.map((mark) => mark.label)).toEqual([
      "warm compile · dlrm-ctr (acknowledged)",
      "warm compile · dlrm-ctr",
      "warm compile · dlrm-ctr (gone)",
    ]);
    expect(marks.map((mark) => mark.color)).toEqual(["--muted", "--bad", "--muted"]);
    expect(markWords(marks)).toBe(
      "Regressions: warm compile · dlrm-ctr since 4 Nov, warm compile · dlrm-ctr (gone) since 5 Nov, " +
        "warm compile · dlrm-ctr (acknowledged) since 3 Nov.",
    );
    expect(marksOn(marks, "2026-11-04")).toBe("warm compile · dlrm-ctr");
    expect(marksOn(marks, "2026-11-06")).toBe("");
  });

  test("many are counted, and two of a day are both told", () => {
    const marks = marksOf(
      Array.from({ length: 9 }, () => one("2026-11-04")),
      DAYS,
      [],
    );
    expect(markWords(marks)).toMatch(/, 3 more\.$/);
    expect(marksOn(marks, "2026-11-04").split(", ")).toHaveLength(9);
    expect(markWords([])).toBe("");
  });

  test("a chart's label has them behind its numbers", () => {
    const line = { label: "ETT%", color: "", value: [91, 85], low: [], high: [] };
    const chart = {
      label: "ETT% by day",
      days_s: [Date.UTC(2026, 10, 3) / 1000, Date.UTC(2026, 10, 4) / 1000],
      lines: [line],
      unit: "pct",
    };
    expect(trendWords(chart)).toMatch(/highest 91\.0% on 3 Nov\.$/);
    const marks = marksOf([one("2026-11-04")], DAYS, []);
    expect(trendWords({ ...chart, marks })).toMatch(
      /on 3 Nov\. Regressions: warm compile · dlrm-ctr since 4 Nov\.$/,
    );
  });
});
