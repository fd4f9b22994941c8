import { expect, test } from "vitest";
import { restMs } from "../../src/api/pace";

test("lists of jobs are asked for again within a second, all else less often", () => {
  expect(restMs("/api/v1/jobs?limit=100", 40)).toBe(1000);
  expect(restMs("/api/v1/status", 5)).toBe(1000);
  for (const path of [
    "/api/v1/jobs/nightly/report",
    "/api/v1/fleet/rollup?from=x",
    "/api/v1/jobs/",
  ])
    expect(restMs(path, 5)).toBe(3000);
});

test("lists that take long are asked for less often, but not for ever", () => {
  expect(restMs("/api/v1/jobs?limit=100", 400)).toBe(2000);
  expect(restMs("/api/v1/jobs?limit=100", 60_000)).toBe(3000);
});
