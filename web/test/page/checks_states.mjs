// States that a real collector cannot easily be brought into: a part that fails, an answer that does not
// come. (What a real one does is in real_*.mjs.)

import { FixtureServer } from "../fixture/server.mjs";
import { serious } from "./axe.mjs";
import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";

async function withFixture(options, use) {
  const fixture = new FixtureServer({ quiet: true, ...options });
  try {
    return await use(fixture, await fixture.listen());
  } finally {
    await fixture.close();
  }
}

export function addStateChecks(harness) {
  harness.check("an error says what to do, stays in its panel, and is tried again", (context) =>
    withFixture({ broken: ["/fleet/losses", "/jobs/"] }, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      const panel = page.locator("#panel-losses");
      await panel.getByText("The store does not answer").waitFor();
      await page.locator("#panel-trend canvas").waitFor();
      equal(await serious(page), [], "axe");
      fixture.options.broken = ["/jobs/"];
      await panel.getByRole("button", { name: "Retry" }).click();
      await panel.getByText("waiting for data").waitFor();
      await page.goto(`${base}/#/job/${fixture.fleet.jobs[0].name}`);
      await page.locator("#panel-timeline").getByText("The store does not answer").waitFor();
      fixture.options.broken = [];
      await page.locator("#panel-timeline").getByRole("button", { name: "Retry" }).click();
      await page
        .locator("#panel-timeline .note", { hasText: "ranks" })
        .or(page.locator(".timeline canvas"))
        .first()
        .waitFor();
      await page.close();
    }),
  );

  harness.check("what is not there is told once, with a way on", (context) =>
    withFixture({}, async (_, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/job/no-such-job`);
      await page.getByText("This collector has no job of this name").waitFor();
      equal(await page.locator(".told").count(), 1, "times that it is said");
      equal(await serious(page), [], "axe");
      await page.getByRole("link", { name: "All jobs" }).click();
      await page.locator("#panel-jobs tbody tr").first().waitFor();
      await page.evaluate(() => (location.hash = "#/nope"));
      await page.getByText("There is no view “nope” here").waitFor();
      await page.locator("#panel-verdict").waitFor();
      await page.getByRole("button", { name: "7 d" }).click();
      await page.getByText("There is no view").waitFor({ state: "detached" });
      await page.close();
    }),
  );

  harness.check("what is open is told even where the period's numbers cannot be had", (context) =>
    withFixture({ broken: ["/fleet/rollup"] }, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet?where=family:dlrm`);
      await page.getByText("1 open regression since 9 Nov").waitFor();
      await page.getByText("1 more open").waitFor();
      await page.close();
    }),
  );

  harness.check("what nobody could check is not called right", (context) =>
    withFixture({ unwatched: true }, async (_, base) => {
      const { page } = await openPage(context, base);
      // Nothing lies before these days that ETT% could have fallen from.
      await page.goto(`${base}/#/fleet?period=90d`);
      await page.getByText("Not enough days yet to tell what is new").waitFor();
      equal(await page.locator(".ok-level").count(), 0, "panels in green");
      await page.getByRole("link", { name: "Regressions" }).click();
      await page.locator("#panel-regressions").getByText("needs eight days with data").waitFor();
      equal(await page.getByText("series watched").count(), 0, "times that series are counted");
      await page.close();
    }),
  );

  harness.check("user errors stand beside failures, in a job and in its fleet", (context) =>
    withFixture({}, async (fixture, base) => {
      const { page } = await openPage(context, base);
      const [job, n] = fixture.fleet.jobs
        .map(({ name }) => [
          name,
          fixture.answer(`/jobs/${name}/report`, new URLSearchParams()).l1.user_errors,
        ])
        .find(([, errors]) => errors > 0);
      await page.goto(`${base}/#/job/${job}`);
      await page.locator(".kpis").getByText(`+ ${n} user error`).waitFor();
      await page.goto(`${base}/#/fleet`);
      await page.locator("#panel-rollup").getByText("user error").first().waitFor();
      await page
        .locator("#panel-failures")
        .getByText("user error, counted apart")
        .first()
        .waitFor();
      await page.goto(`${base}/#/jobs`);
      await page.locator("#panel-jobs .note", { hasText: "user errors" }).waitFor();
      await page.close();
    }),
  );

  harness.check("panels that wait show a skeleton", (context) =>
    withFixture({ holdBack: ["/fleet/losses"] }, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      await page.locator("#panel-trend canvas").waitFor();
      equal(await page.locator("#panel-losses .skeleton").count(), 1, "skeletons");
      equal(await serious(page), [], "axe");
      await page.close();
    }),
  );

  harness.check("events change what is on show", (context) =>
    withFixture({}, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/jobs?text=dlrm-sweep`);
      await settled(page);
      await page.locator(".dot.live").waitFor();
      const job = fixture.fleet.jobs.find(
        (one) => one.name.startsWith("dlrm-sweep") && one.state === "running",
      );
      job.state = "failed";
      fixture.say("job", { job: job.name, version: 2, state: "failed" });
      await page.locator("tr", { hasText: job.name }).getByText("failed").waitFor();
      await page.waitForFunction(
        (name) =>
          document.querySelector(".hidden[role=status]").textContent.includes(`${name}: failed`),
        job.name,
      );
      await page.close();
    }),
  );

  harness.check("the first key skips to the content, and focus follows the view", (context) =>
    withFixture({}, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      await settled(page);
      await page.keyboard.press("Tab");
      equal(
        await page.evaluate(() => document.activeElement.textContent),
        "Skip to content",
        "first stop",
      );
      await page.keyboard.press("Enter");
      equal(await page.evaluate(() => document.activeElement.id), "main", "after skipping");
      await page.getByRole("link", { name: "Jobs" }).focus();
      await page.keyboard.press("Enter");
      await settled(page);
      equal(await page.evaluate(() => document.activeElement.id), "main", "after a change of view");
      await page.getByLabel("Theme").selectOption("dark");
      equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "theme");
      await page.reload();
      await settled(page);
      equal(
        await page.evaluate(() => document.documentElement.dataset.theme),
        "dark",
        "theme after a reload",
      );
      await page.getByLabel("Theme").selectOption("auto");
      await page.close();
    }),
  );
}
