// Every view opens without a complaint, and axe finds nothing serious in it, in both themes and on a
// small screen.

import axe from "axe-core";
import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";

export function viewsOf(fixture) {
  const job = fixture.fleet.jobs.find(
    (one) => one.state === "running" && one.family === "dlrm",
  ).name;
  return {
    fleet: "#/fleet",
    "fleet, grouped, 90 days":
      "#/fleet?period=90d&by=family&wf=time_to_start_s&split=lever&weight=job",
    "fleet, tables":
      "#/fleet?table=trend&table=losses&table=waterfall&table=failures&table=rollup&table=hosts&table=time_to_start_s",
    regressions: "#/regressions?state=all",
    jobs: "#/jobs",
    job: `#/job/${job}`,
    "job, tables": `#/job/${job}?table=partition&table=timeline&table=job-failures&table=attempts&table=stages&table=stragglers`,
  };
}

export async function serious(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter((one) => ["serious", "critical"].includes(one.impact))
      .map(
        (one) =>
          `${one.id}: ${one.nodes
            .slice(0, 3)
            .map((node) => node.html.slice(0, 140))
            .join(" | ")}`,
      );
  });
  return found;
}

export function addViewChecks(harness, fixture, base) {
  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
    ["dark", 390],
  ]) {
    harness.check(`every view, ${theme}, ${width} px`, async (context) => {
      const { page, complaints } = await openPage(context, base);
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      for (const [name, hash] of Object.entries(viewsOf(fixture))) {
        await page.goto("about:blank");
        await page.goto(`${base}/${hash}`);
        await settled(page);
        equal(await page.locator(".told:has(button)").count(), 0, `${name}: panels that failed`);
        equal(await serious(page), [], `${name}: axe`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        ok(wide <= 0, `${name}: wider than the screen by ${wide} px`);
      }
      equal(complaints, [], "complaints");
      await page.close();
    });
  }

  harness.check("landmarks, a title and one first heading in every view", async (context) => {
    const { page } = await openPage(context, base);
    for (const [name, hash] of Object.entries(viewsOf(fixture))) {
      await page.goto(`${base}/${hash}`);
      await settled(page);
      for (const role of ["main", "banner", "navigation"])
        ok((await page.getByRole(role).count()) >= 1, `${name}: no ${role}`);
      equal(await page.locator("h1").count(), 1, `${name}: first headings`);
      ok((await page.title()).endsWith("· Headway"), `${name}: title`);
    }
    await page.close();
  });

  harness.check(
    "the first screen answers what is wrong, since when, whose doing, what to do",
    async (context) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      await settled(page);
      for (const text of [
        "2 open regressions since 9 Nov",
        "revision r1842",
        "9 Nov",
        "headway run --cache s3://BUCKET",
        "Where the fleet loses its hours",
      ]) {
        const box = await page.getByText(text, { exact: false }).first().boundingBox();
        ok(box && box.y + box.height <= 800, `"${text}" is not on the first screen`);
      }
      const trend = await page.locator("#panel-trend .chart").boundingBox();
      ok(trend.y + trend.height <= 800, "the trend is not on the first screen");
      await page.close();
    },
  );
}
