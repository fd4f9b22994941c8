import { describe, expect, test } from "vitest";
import { EventStreamParser } from "../../src/api/event_stream";
import { RequestQueue } from "../../src/api/queue";
import type { Group, Losses, Regression, Regressions, Waterfall } from "../../src/api/types";
import { bucketOf, BUCKETS, byGroup, groupOf } from "../../src/model/buckets";
import { channels, faded, packed } from "../../src/model/color";
import { placeLabels } from "../../src/model/labels";
import { groupSums, partsOf } from "../../src/model/partition";
import { concerns, culprit, differ, remedy, verdict } from "../../src/model/verdict";
import { unwatched } from "../../src/model/watched";
import { waterfallBars } from "../../src/model/waterfall";
import { sortRows } from "../../src/ui/data_table";
import { FixtureServer } from "../fixture/server.mjs";

const fixture = new FixtureServer();
const ask = <T>(path: string, search = ""): T =>
  fixture.answer(path, new URLSearchParams(search)) as T;

describe("waterfall", () => {
  const wf = (a: number, deltas: number[], metric = "ett_pct"): Waterfall => ({
    metric,
    unit: "pct",
    split: "component",
    a: { value: a, low: null, high: null, count: 1 },
    b: { value: deltas.reduce((sum, d) => sum + d, a), low: null, high: null, count: 1 },
    steps: deltas.map((delta, i) => ({
      name: `s${i}`,
      label: `s${i}`,
      kind: "component",
      delta,
      low: null,
      high: null,
    })),
  });
  test("every bar begins where the one before ended", () => {
    const bars = waterfallBars(wf(80, [-5, 3, -1]));
    const at = (i: number, up: boolean) => (up ? bars[i]?.to : bars[i]?.from) ?? 0;
    expect(bars.map((bar) => bar.name)).toEqual(["a", "s0", "s1", "s2", "b"]);
    expect(at(1, true)).toBeCloseTo(at(0, true));
    expect(at(2, false)).toBeCloseTo(at(1, false));
    expect(at(3, true)).toBeCloseTo(at(2, true));
    expect(at(4, true)).toBeCloseTo(at(3, false));
    for (const bar of bars) expect(bar.from >= 0 && bar.to <= 1).toBe(true);
  });
  test("what is better depends on the metric", () => {
    expect(waterfallBars(wf(80, [-5]))[1]?.kind).toBe("worse");
    expect(waterfallBars(wf(80, [-5], "time_to_start_s"))[1]?.kind).toBe("better");
  });
  test("small steps are told together and nothing is lost", () => {
    const bars = waterfallBars(wf(80, [-5, ...Array.from({ length: 30 }, () => 0.01)]));
    const steps = bars.filter((bar) => bar.kind !== "end");
    expect(steps.at(-1)?.label).toBe("30 smaller");
    expect(steps.reduce((sum, bar) => sum + bar.value, 80)).toBeCloseTo(75.3);
  });
  test("a side without a value has no bars", () => {
    const one = wf(80, []);
    expect(waterfallBars({ ...one, b: { ...one.b, value: null } })).toEqual([]);
  });
});

describe("verdict", () => {
  const { regressions } = ask<Regressions>("/regressions", "state=all");
  const now = ask<{ total: Group }>("/fleet/rollup").total;
  const losses = ask<Losses>("/fleet/losses");
  const with_ett = (value: number, spread: number): Group => ({
    ...now,
    ett_pct: { value, low: value - spread, high: value + spread },
  });
  test("open regressions come first, the dearest on top", () => {
    const said = verdict(regressions, now, null, losses, 30);
    expect(said.level).toBe("bad");
    expect(said.open.map((one) => one.component)).toEqual(["compile_cold", "data_wait"]);
    expect(said.headline).toBe("2 open regressions since 9 Nov, costing 150 device-hours a day");
  });
  test("without one, only a fall beyond doubt is told", () => {
    const none: Regression[] = [];
    expect(verdict(none, with_ett(80, 1), with_ett(85, 1), losses, 30).level).toBe("warn");
    expect(verdict(none, with_ett(80, 4), with_ett(85, 4), losses, 30).level).toBe("ok");
    expect(verdict(none, with_ett(85, 1), with_ett(80, 1), losses, 30).level).toBe("ok");
    const empty = { ...now, ett_pct: { value: null, low: null, high: null } };
    expect(verdict(none, empty, null, null, 30).level).toBe("unknown");
  });
  test("nothing new is claimed only where something was looked at", () => {
    const blind = unwatched({ series: 0, checked_ns: null }, "2026-11-18", "2026-11-18");
    const said = verdict([], with_ett(80, 4), null, losses, 1, blind);
    expect(said.level).toBe("unknown");
    expect(said.headline).toMatch(/^Not enough days yet/);
    expect(said.detail).toMatch(/eight days .* Data begins on 18 Nov\. ETT is 80\.0%\./);
    expect(verdict([], null, null, null, 1, blind).headline).toBe(said.headline);
    expect(verdict(regressions, with_ett(80, 4), null, losses, 1, blind).level).toBe("bad");
    expect(verdict([], with_ett(80, 1), with_ett(85, 1), losses, 30, blind).headline).toMatch(
      /not days enough/,
    );
  });
  test("few days, no look yet and a look at nothing are told apart", () => {
    const at = (series: number, checked_ns: number | null, first_day: string | null) =>
      unwatched({ series, checked_ns }, first_day, "2026-11-18")?.headline.slice(0, 10);
    expect(at(1, 1, "2026-11-18")).toBeUndefined();
    expect(at(0, null, "2026-11-11")).toBe("Not enough");
    expect(at(0, null, "2026-11-10")).toBe("Not checke");
    expect(at(0, 1, "2026-08-10")).toBe("Not enough");
    expect(at(0, null, null)).toBe("Not enough");
  });
  test("a regression began when the newest data say it did", () => {
    const [one, ...others] = regressions.filter((each) => each.state === "open") as Regression[];
    const later = { ...(one as Regression), began_ns: Date.parse("2026-11-12T03:36:00Z") * 1e6 };
    expect(verdict([later, ...others], now, null, losses, 30).headline).toMatch(/since 12 Nov/);
  });
  test("one day is held against one day", () => {
    expect(verdict([], with_ett(80, 1), with_ett(85, 1), losses, 1).detail).toMatch(
      /points below the day before\.$/,
    );
  });
  test("whose doing, and what to do", () => {
    const one = regressions[0] as Regression;
    expect(culprit(one).text).toBe("revision r1842");
    expect(culprit({ ...one, separates: [] }).text).toBe("dlrm");
    expect(culprit({ ...one, separates: [], terms: [] }).text).toBe("dlrm");
    expect(remedy(one, losses.losses)).toMatch(/headway run --cache/);
    expect(remedy(one, [])).toMatch(/^Open one of its attempts/);
  });
  test("what is open is told without the numbers of the period", () => {
    expect(verdict(regressions, null, null, null, 30)).toMatchObject({ level: "bad", detail: "" });
    expect(verdict([], null, null, null, 30).level).toBe("unknown");
  });
  test("filters leave out what is about other values", () => {
    const stratum = { family: "dlrm", cluster: "east-1" };
    expect(concerns(stratum, [])).toBe(true);
    expect(concerns(stratum, ["team:ads"])).toBe(true);
    expect(concerns(stratum, ["family:llm", "family:dlrm"])).toBe(true);
    expect(concerns(stratum, ["family:llm"])).toBe(false);
    expect(concerns({}, ["family:llm"])).toBe(true);
  });
  test("ranges that touch do not differ", () => {
    const d = (low: number | null, high: number | null) => ({ value: 1, low, high });
    expect(differ(d(1, 2), d(2, 3))).toBe(false);
    expect(differ(d(1, 2), d(2.1, 3))).toBe(true);
    expect(differ(d(null, null), d(2, 3))).toBe(false);
  });
});

describe("buckets", () => {
  test("have names of the wire and of their group", () => {
    expect(BUCKETS.length).toBe(27);
    expect(bucketOf("wasted_replay")?.name).toBe("replay");
    expect(bucketOf("cold")?.name).toBe("compile_cold");
    expect(groupOf("launcher_init")).toBe("launcher_init");
    expect(bucketOf("no such")).toBeUndefined();
    expect(byGroup({ imports: 1, restore: 2, new_thing: 4 })).toMatchObject({
      launcher_init: 3,
      wasted: 4,
    });
  });
  test("a report's parts sum to its wall time", () => {
    for (const job of fixture.fleet.jobs.slice(0, 5)) {
      const report = ask<Parameters<typeof partsOf>[0]>(`/jobs/${job.name}/report`);
      const parts = partsOf(report);
      const sum = parts.reduce((all, part) => all + part.ns, 0);
      expect(Math.abs(sum - report.wall_ns)).toBeLessThan(parts.length);
      expect(
        Math.abs(groupSums(parts).launcher_init - (report.l2["launcher_init_ns"] ?? 0)),
      ).toBeLessThan(20);
    }
  });
});

test("events come in pieces, and what is unknown is left out", () => {
  const parser = new EventStreamParser();
  expect(parser.push(': hello\n\nevent: job\ndata: {"job":"a",')).toEqual([]);
  expect(parser.push('"version":3,"state":"running"}\r\n\r\nevent: other\ndata: {}\n\n')).toEqual([
    { kind: "job", job: "a", version: 3, state: "running" },
  ]);
  expect(
    parser.push('event: fleet\ndata: nonsense\n\nevent: fleet\ndata: {"version":9}\n\n'),
  ).toEqual([{ kind: "fleet", version: 9 }]);
});

test("colours, also those that a minifier has shortened", () => {
  expect(channels("#fff")).toEqual([255, 255, 255]);
  expect(channels("#1b6fae")).toEqual([27, 111, 174]);
  expect(channels("nonsense")).toEqual([128, 128, 128]);
  expect(packed("#010203").toString(16)).toBe("ff030201");
  expect(faded("#fff", 0.5)).toBe("rgba(255, 255, 255, 0.5)");
});

test("four questions at once, the urgent first, and a failure lets the next one go", async () => {
  const queue = new RequestQueue();
  const begun: string[] = [];
  const ends = new Map<string, (fail: boolean) => void>();
  const ask = (path: string): Promise<string> =>
    queue.run(path, () => {
      begun.push(path);
      return new Promise((resolve, reject) => {
        ends.set(path, (fail) => (fail ? reject(new Error(path)) : resolve(path)));
      });
    });
  const paths = [
    "/fleet/hosts",
    "/fleet/trend",
    "/fleet/failures",
    "/jobs",
    "/fleet/losses",
    "/regressions",
  ];
  const all = paths.map((path) => ask(`/api/v1${path}`).catch(() => "failed"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(begun.map((path) => path.slice(7))).toEqual([
    "/regressions",
    "/fleet/losses",
    "/fleet/hosts",
    "/fleet/trend",
  ]);
  ends.get("/api/v1/regressions")?.(true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(begun.at(-1)).toBe("/api/v1/fleet/failures");
  ends.get("/api/v1/fleet/losses")?.(false);
  await new Promise((resolve) => setTimeout(resolve, 5));
  for (const end of ends.values()) end(false);
  expect((await Promise.all(all)).filter((text) => text === "failed").length).toBe(1);
});

test("labels that have no room are left out, the least first", () => {
  const mark = (left: number, weight: number) => ({ left, width: 100, weight });
  expect(placeLabels([mark(0, 1), mark(200, 1)], 1, 5)).toEqual([0, 0]);
  expect(placeLabels([mark(0, 1), mark(50, 3), mark(60, 2)], 2, 5)).toEqual([null, 0, 1]);
});

test("rows sort by numbers and texts, what is missing last", () => {
  const columns = [
    { name: "x", label: "x", cell: () => null, sort: (row: { x: number | null }) => row.x },
  ];
  const rows = [{ x: 2 }, { x: null }, { x: 10 }, { x: 1 }];
  expect(sortRows(rows, columns, "x").map((row) => row.x)).toEqual([1, 2, 10, null]);
  expect(sortRows(rows, columns, "-x").map((row) => row.x)).toEqual([10, 2, 1, null]);
  expect(sortRows(rows, columns, "")).toBe(rows);
});
