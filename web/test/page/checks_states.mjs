// What is not the usual: nothing there yet, an error, no answer, no token; and what changes while one
// looks.

import { FixtureServer } from "../fixture/server.mjs";
import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";
import { serious } from "./checks_views.mjs";

async function withFixture(options, use) {
  const fixture = new FixtureServer({ quiet: true, ...options });
  try {
    return await use(fixture, await fixture.listen());
  } finally {
    await fixture.close();
  }
}

/** Answers of 4xx and 5xx, and connections that fail, are what these checks are about. */
const own = (complaints) =>
  complaints.filter((text) => !/Failed to load resource|net::ERR/.test(text));

export function addStateChecks(harness) {
  harness.check("an empty collector says how to send", (context) =>
    withFixture({ empty: true }, async (fixture, base) => {
      const { page, complaints } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      await page.getByText("Nothing has been sent to this collector yet").waitFor();
      equal(await serious(page), [], "axe");
      await page.goto(`${base}/#/jobs`);
      await page.getByText("No job has been sent yet").waitFor();
      await page.goto(`${base}/#/regressions`);
      await page.getByText("No regression is open").waitFor();
      equal(own(complaints), [], "complaints");
      await page.close();
    }),
  );

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
      await page.goto(`${base}/#/job/no-such-job`);
      await page.getByText("no job no-such-job").first().waitFor();
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

  harness.check("a token is asked for once and kept for the tab", (context) =>
    withFixture({ token: "secret-1" }, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      equal(await serious(page), [], "axe");
      await page.keyboard.type("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("is not accepted").waitFor();
      await page.getByRole("textbox", { name: "Token" }).fill("secret-1");
      await page.keyboard.press("Enter");
      await page.getByText("2 open regressions").waitFor();
      equal(await dialog.count(), 0, "dialogs");
      await page.waitForFunction(() => document.querySelector(".topbar .dot.live"));
      await page.reload();
      await page.getByText("2 open regressions").waitFor();
      ok(!page.url().includes("secret-1"), "the token is in the address");
      equal(
        await page.evaluate(() => JSON.stringify(localStorage).includes("secret-1")),
        false,
        "kept beyond the tab",
      );
      await page.close();
    }),
  );

  harness.check("a collector that goes away is told, and its numbers stay", async (context) => {
    const fixture = new FixtureServer({ quiet: true });
    const base = await fixture.listen();
    const { page } = await openPage(context, base);
    await page.goto(`${base}/#/fleet`);
    await settled(page);
    await page.locator(".dot.live").waitFor();
    await fixture.close();
    await page.locator(".dot.offline").waitFor();
    await page.getByText("2 open regressions").waitFor();
    await page.getByRole("button", { name: "7 d" }).click();
    await page
      .locator("#panel-losses")
      .getByText("The collector does not answer")
      .first()
      .waitFor();
    const again = new FixtureServer({ quiet: true });
    await again.listen(Number(new URL(base).port));
    await page.locator(".dot.live").waitFor({ timeout: 40_000 });
    await page.locator("#panel-losses").getByText("waiting for data").waitFor();
    await page.close();
    await again.close();
  });

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

  harness.check("a regression is acknowledged by keyboard, with name and note", (context) =>
    withFixture({}, async (fixture, base) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      await settled(page);
      await page.getByRole("button", { name: "Acknowledge cold compile" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      equal(await serious(page), [], "axe");
      await page.keyboard.press("Escape");
      equal(await page.getByRole("dialog").count(), 0, "dialogs after Escape");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.type("noor");
      await page.keyboard.press("Tab");
      await page.keyboard.type("rolled r1842 back");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByText("1 open regression since 13 Nov").waitFor();
      equal(fixture.regressions[0].acknowledged.by, "noor", "who");
      equal(fixture.regressions[0].acknowledged.note, "rolled r1842 back", "note");
      await page.goto(`${base}/#/regressions?state=all`);
      await page.getByText("Seen by noor").waitFor();
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
