import { describe, expect, test } from "vitest";
import { before, lastDays } from "../../src/model/days";
import { fleetPath, fleetState, waterfallPath, waterfallState } from "../../src/state/fleet_state";
import { addressText, changed, parseAddress } from "../../src/state/query";

describe("addresses", () => {
  test.each([
    "#/fleet",
    "#/fleet?by=team&period=90d&where=family:dlrm&where=family:llm",
    "#/regressions?id=1",
    "#/jobs?state=running&text=night%20ly",
    "#/job/a%2Fb%20%25?t=0-1000",
  ])("%s comes back as it was", (text) => expect(addressText(parseAddress(text))).toBe(text));

  test("what is nonsense is the fleet, and a job without a name is the list", () => {
    expect(parseAddress("").view).toBe("fleet");
    expect(parseAddress("#/nothing?x=1")).toMatchObject({ view: "fleet", unknown: "nothing" });
    expect(parseAddress("#/").unknown).toBeUndefined();
    expect(parseAddress("#/fleet").unknown).toBeUndefined();
    expect(parseAddress("#/job/").view).toBe("jobs");
    expect(parseAddress("#/job/%E0%A4%A").job).toBe("%E0%A4%A");
  });

  test("names of jobs survive, whatever is in them", () => {
    for (const job of ["plain", "a/b", "ü ?&#=%", "x".repeat(200)])
      expect(parseAddress(addressText({ view: "job", job, query: {} })).job).toBe(job);
  });

  test("changes replace and take away", () => {
    const query = { by: ["team"], where: ["family:a", "family:b"] };
    expect(changed(query, { by: null })).toEqual({ where: ["family:a", "family:b"] });
    expect(changed(query, { where: ["team:x"], by: "" })).toEqual({ where: ["team:x"] });
    expect(changed(query, {})).toEqual(query);
  });
});

describe("the fleet's state", () => {
  const of = (text: string, last = "2026-11-18") => fleetState(parseAddress(text).query, last);

  test("usually the last 30 days that have data", () => {
    expect(of("#/fleet").days).toEqual({ from: "2026-10-20", to: "2026-11-19" });
    expect(of("#/fleet?period=7d").days).toEqual({ from: "2026-11-12", to: "2026-11-19" });
    expect(fleetState({}, null).days).toBeNull();
  });

  test("days in the address win, unless they are none", () => {
    const days = of("#/fleet?from=2026-11-01&to=2026-11-03&period=7d");
    expect(days).toMatchObject({
      period: "custom",
      days: { from: "2026-11-01", to: "2026-11-03" },
    });
    expect(of("#/fleet?from=2026-11-03&to=2026-11-03").days).toEqual({
      from: "2026-11-03",
      to: "2026-11-04",
    });
    expect(of("#/fleet?from=2026-11-03&to=2026-11-01").period).toBe("30d");
    expect(of("#/fleet?from=yesterday&to=2026-11-01").period).toBe("30d");
  });

  test("what the API does not know is not asked", () => {
    const state = of("#/fleet?where=family:a:b&where=color:red&by=color&weight=heavy");
    expect(state).toMatchObject({ where: ["family:a:b"], by: "", weight: "device" });
  });

  test("paths of questions", () => {
    const state = of("#/fleet?period=7d&where=team:ads&weight=job");
    expect(fleetPath("trend", state, { metric: "ett_pct", by: "" })).toBe(
      "/api/v1/fleet/trend?from=2026-11-12&to=2026-11-19&where=team%3Aads&weight=job&metric=ett_pct",
    );
    expect(fleetPath("trend", fleetState({}, null))).toBeNull();
  });
});

describe("the waterfall's two sides", () => {
  const of = (text: string, first_day: string | null) => {
    const { query } = parseAddress(text);
    const state = fleetState(query, "2026-11-18");
    return { state, wf: waterfallState(query, state, first_day) };
  };
  test("the period before, where there are data of it", () => {
    const { wf } = of("#/fleet?period=7d", "2026-08-21");
    expect(wf?.a).toEqual({ from: "2026-11-05", to: "2026-11-12" });
    expect(wf?.b).toEqual({ from: "2026-11-12", to: "2026-11-19" });
  });
  test("else one half against the other", () => {
    const { wf } = of("#/fleet?period=90d", "2026-08-21");
    expect(wf?.a).toEqual({ from: "2026-08-21", to: "2026-10-05" });
    expect(wf?.b).toEqual({ from: "2026-10-05", to: "2026-11-19" });
  });
  test("both sides carry the view's filters", () => {
    const { state, wf } = of("#/fleet?where=team:ads&where_a=family:x&where_b=family:y", null);
    const search = new URL(wf ? waterfallPath(state, wf) : "", "http://x").searchParams;
    expect(search.getAll("where_a")).toEqual(["team:ads", "family:x"]);
    expect(search.getAll("where_b")).toEqual(["team:ads", "family:y"]);
    expect(search.has("where")).toBe(false);
  });
});

test("periods", () => {
  expect(lastDays("30d", "2026-03-01")).toEqual({ from: "2026-01-31", to: "2026-03-02" });
  expect(before({ from: "2026-11-12", to: "2026-11-19" })).toEqual({
    from: "2026-11-05",
    to: "2026-11-12",
  });
});
