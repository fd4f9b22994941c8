// What people do is in the address, and the address brings it back.

import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";

const shown = (page) =>
  page.evaluate(() => ({
    pressed: [...document.querySelectorAll("[aria-pressed=true]")].map(
      (one) => one.getAttribute("aria-label") ?? one.textContent,
    ),
    chips: [...document.querySelectorAll("button.chip")].map((one) => one.textContent),
    selects: [...document.querySelectorAll("main select")].map((one) => one.value),
    dates: [...document.querySelectorAll("main input")].map((one) => one.value),
    rows: [...document.querySelectorAll("#panel-rollup tbody tr, #panel-jobs tbody tr")].map(
      (one) => one.textContent,
    ),
    tables: document.querySelectorAll("table").length,
  }));

export function addLinkChecks(harness, fixture, base) {
  harness.check(
    "dragging over the trend zooms into days, and a copied link pins them",
    async (context) => {
      await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
      const { page } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      await settled(page);
      await page
        .getByRole("button", { name: "Copy link: Where the fleet loses its hours" })
        .click();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      for (const part of ["from=2026-10-20", "to=2026-11-19", "panel=losses"])
        ok(link.includes(part), `${part} is not in ${link}`);
      const box = await page.locator("#panel-trend .u-over").boundingBox();
      await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
      await page.mouse.up();
      await page.waitForFunction(() => location.hash.includes("from="));
      await settled(page);
      ok(/from=2026-10-2\d&to=2026-11-0\d/.test(page.url()), `days of ${page.url()}`);
      await page.goto("about:blank");
      await page.goto(link);
      await settled(page);
      equal(
        await page.locator(".panel.pointed").getAttribute("id"),
        "panel-losses",
        "the panel pointed at",
      );
      await page.close();
    },
  );

  harness.check("a single day stands in the middle of its chart", async (context) => {
    const { page } = await openPage(context, base);
    await page.goto(`${base}/#/fleet?from=2026-11-18&to=2026-11-19`);
    await settled(page);
    const label = await page.locator("#panel-trend [role=img]").getAttribute("aria-label");
    ok(/^ETT% by day\. ETT%: [\d.]+% on 18 Nov\.$/.test(label), `it is told as ${label}`);
    ok(!(await page.locator("#panel-verdict").innerText()).includes("1 days"), "1 day is no days");
    const plot = await page.locator("#panel-trend .u-over").boundingBox();
    await page.mouse.move(plot.x + plot.width / 3, plot.y + 60);
    const point = await page.locator("#panel-trend .u-cursor-pt").first().boundingBox();
    const at = (point.x + point.width / 2 - plot.x) / plot.width;
    ok(Math.abs(at - 0.5) < 0.02, `it stands at ${at} of the width`);
    await page.close();
  });

  harness.check("jobs are searched and filtered, and the link says so", async (context) => {
    const { page } = await openPage(context, base);
    await page.goto(`${base}/#/jobs`);
    await settled(page);
    const all = await page.locator("#panel-jobs tbody tr").count();
    equal(all, fixture.fleet.jobs.length, "jobs");
    await page.getByLabel("Search by name").fill("dlrm");
    await page.waitForFunction(() => location.hash.includes("text=dlrm"));
    await page.getByLabel("State").selectOption("finished");
    await settled(page);
    const wanted = fixture.fleet.jobs.filter(
      (job) => job.name.includes("dlrm") && job.state === "finished",
    ).length;
    await page.waitForFunction(
      (n) => document.querySelectorAll("#panel-jobs tbody tr").length === n,
      wanted,
    );
    const other = await openPage(context, base);
    await other.page.goto(page.url());
    await settled(other.page);
    equal(await shown(other.page), await shown(page), "what the link shows");
    await page.getByRole("rowheader").getByRole("link").first().click();
    await settled(page);
    ok(page.url().includes("#/job/dlrm"), "a row leads to its job");
    await page.close();
    await other.page.close();
  });
}
