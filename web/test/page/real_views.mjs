// Every view of the real thing: it opens, it holds data, nothing complains, and what is shown is what
// the collector said.

import { serious } from "./axe.mjs";
import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";

async function someJobs(demo) {
  const { jobs } = await demo.get("/jobs?limit=500");
  const running = jobs.filter((job) => job.state === "running");
  return {
    large: jobs.reduce((x, y) => (y.devices > x.devices ? y : x)).job,
    failed: jobs.reduce((x, y) => (y.failures > x.failures ? y : x)).job,
    running,
  };
}

export async function viewsOf(demo) {
  const { large, failed } = await someJobs(demo);
  const { regressions } = await demo.get("/regressions?state=all");
  return {
    fleet: "#/fleet",
    "fleet, grouped, 90 days":
      "#/fleet?period=90d&by=family&wf=time_to_start_s&split=lever&weight=job",
    "fleet, tables":
      "#/fleet?table=trend&table=losses&table=waterfall&table=failures&table=rollup&table=hosts&table=caches&table=time_to_start_s",
    regressions: "#/regressions?state=all",
    "one regression": `#/regressions?id=${regressions[0].id}`,
    jobs: "#/jobs",
    "a large job that runs": `#/job/${large}`,
    "a job that failed": `#/job/${failed}`,
    "a job, tables": `#/job/${failed}?table=partition&table=timeline&table=job-failures&table=attempts&table=stages&table=stragglers`,
  };
}

/** Nearly all is not all. */
function share(pct) {
  if (pct === null) return "–";
  return pct < 100 && pct.toFixed(1) === "100.0" ? ">99.9%" : `${pct.toFixed(1)}%`;
}

const PARTS = new Set(["fleet", "fleet, tables", "regressions", "jobs", "a large job that runs"]);

/** Panels that say that they have nothing: of a demo all should have something. */
const empty = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".panel")]
      .filter((panel) => panel.querySelector(".told"))
      .map((panel) => `${panel.id}: ${panel.querySelector(".told").textContent}`),
  );

/** Words that are cut off with dots, and numbers that are none. */
const flaws = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const one of document.querySelectorAll("main .name, main th, main td, main dd, main h2"))
      if (
        one.scrollWidth > one.clientWidth + 1 &&
        getComputedStyle(one).textOverflow === "ellipsis"
      )
        found.push(`cut off: ${one.textContent}`);
    const text = document.querySelector("main").innerText;
    for (const [wrong] of text.matchAll(/\bNaN\b|\bundefined\b|\bnull\b|\[object|Infinity/g))
      found.push(`shows ${wrong}`);
    return found;
  });

export function addViewChecks(harness, demo) {
  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["dark", 390],
  ]) {
    harness.check(`every view of the demo, ${theme}, ${width} px`, async (context) => {
      const { page, complaints } = await openPage(context, demo.base);
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      const views = Object.entries(await viewsOf(demo));
      // All of them once; other colours and widths are those of the same parts.
      for (const [name, hash] of theme === "light"
        ? views
        : views.filter(([one]) => PARTS.has(one))) {
        await page.goto("about:blank");
        await page.goto(`${demo.base}/${hash}`);
        await settled(page);
        equal(await page.locator(".told:has(button)").count(), 0, `${name}: panels that failed`);
        const nothing = (await empty(page)).filter((text) => !/job-failures|stages/.test(text));
        equal(nothing, [], `${name}: panels without anything`);
        equal(await flaws(page), [], `${name}: words`);
        equal(await serious(page), [], `${name}: axe`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        ok(wide <= 0, `${name}: wider than the screen by ${wide} px`);
        equal(await page.locator("h1").count(), 1, `${name}: first headings`);
        ok((await page.title()).endsWith("· Headway"), `${name}: title`);
      }
      equal(complaints, [], "complaints");
      await page.close();
    });
  }

  harness.check("every chart has a table with rows", async (context) => {
    const { page } = await openPage(context, demo.base);
    const { failed } = await someJobs(demo);
    for (const hash of ["#/fleet", "#/regressions", `#/job/${failed}`]) {
      await page.goto(`${demo.base}/${hash}`);
      await settled(page);
      const names = await page
        .getByRole("button", { name: /^Table: / })
        .evaluateAll((all) => all.map((one) => one.closest(".panel").id));
      ok(names.length >= 1, `${hash}: no table at all`);
      const charts = await page
        .locator(".panel:has(canvas, [role=img], .bars, .terms, .stack, .waterfall)")
        .evaluateAll((all) => all.map((one) => one.id));
      ok(charts.length >= 1, `${hash}: no chart at all`);
      const bare = charts.filter((id) => !names.includes(id));
      equal(bare, [], `${hash}: charts without a table`);
      for (const id of names) {
        const panel = page.locator(`[id="${id}"]`);
        await panel.getByRole("button", { name: /^Table: / }).click();
        await panel.locator("tbody tr").first().waitFor({ state: "attached" });
      }
      for (const id of names)
        ok(page.url().includes(`table=${id.replace("panel-", "")}`), `${id} is not in the address`);
    }
    await page.close();
  });

  harness.check("numbers on the page are the collector's", async (context) => {
    const { page } = await openPage(context, demo.base);
    await page.goto(`${demo.base}/#/fleet?table=losses&table=hosts`);
    await settled(page);
    const { losses } = await demo.get("/fleet/losses");
    const rows = await page
      .locator("#panel-losses tbody tr")
      .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    equal(rows.length, losses.length, "losses");
    const shares = losses.map((loss) => `${loss.share_pct.toFixed(1)}%`);
    equal(
      rows.map((row) => row[2]),
      shares,
      "shares",
    );
    const { hosts } = await demo.get("/fleet/hosts");
    const lemons = hosts.filter((host) => host.lemon).map((host) => host.host);
    equal(lemons, ["gpu-017"], "lemons that were put in");
    const badges = await page
      .locator("#panel-hosts tbody tr:has(.badge.bad) code")
      .allTextContents();
    equal(badges, lemons, "lemons on the page");
    const { failed } = await someJobs(demo);
    const report = await demo.get(`/jobs/${failed}/report`);
    await page.goto(`${demo.base}/#/job/${failed}`);
    await settled(page);
    const told = await page.locator(".kpis").innerText();
    ok(told.includes(`${report.ett_pct.toFixed(1)}%`), `ETT ${report.ett_pct} is not in ${told}`);
    const reasons = await page.locator("#panel-job-failures .reason").allTextContents();
    for (const { reason } of report.failures.slice(-6))
      ok(reasons.includes(reason), `"${reason}" is not among ${reasons}`);
    await page.close();
  });

  harness.check(
    "what compile caches were worth is the collector's word for it",
    async (context) => {
      const { page, complaints } = await openPage(context, demo.base);
      const { groups, total } = await demo.get("/fleet/rollup?by=family");
      const whole = total.compile_cache;
      ok(whole.hits > 0 && whole.saved_s > 0 && whole.unpacked > 0, "the demo has caches");
      ok(whole.unpacked < whole.attempts, "and attempts without");
      await page.goto(`${demo.base}/#/fleet`);
      await settled(page);
      const panel = page.locator("#panel-caches");
      const strip = await panel.locator(".strip dd").allInnerTexts();
      ok(strip[0].startsWith(share(whole.unpacked_pct)), `coverage: ${strip[0]}`);
      ok(strip[1].startsWith(share(whole.hit_pct)), `hit rate: ${strip[1]}`);
      const [, size, unit] = /^([\d.,]+)\s(d|h|min|s)/.exec(strip[2]);
      const saved_s = Number(size.replace(",", "")) * { d: 86400, h: 3600, min: 60, s: 1 }[unit];
      ok(Math.abs(saved_s / whole.saved_s - 1) < 0.01, `saved ${whole.saved_s} s: ${strip[2]}`);
      ok(/Saved is an estimate/.test(await panel.innerText()), "how it is estimated is said");
      const row = async (name) => {
        const cells = panel.getByRole("row", { name }).first().getByRole("cell");
        return await cells.allInnerTexts();
      };
      for (const { key, compile_cache: cache } of groups.filter((one) => one.compile_cache)) {
        const [, coverage, hit_rate] = await row(key.family);
        equal(coverage, share(cache.unpacked_pct), `coverage of ${key.family}`);
        equal(hit_rate, share(cache.hit_pct), `hit rate of ${key.family}`);
      }
      await page.goto(`${demo.base}/#/fleet?table=caches`);
      await settled(page);
      const [attempts, asked] = await row(groups[0].key.family);
      equal(attempts, groups[0].compile_cache.attempts.toLocaleString("en"), "attempts");
      equal(asked, groups[0].compile_cache.asked.toLocaleString("en"), "asked");
      await page.goto(`${demo.base}/#/fleet?where=family:none-such`);
      await settled(page);
      ok(
        /compiled anything/.test(await panel.innerText()),
        "where nothing is known nothing is shown",
      );
      equal(complaints, [], "complaints");
      await page.close();
    },
  );

  harness.check("the waterfall compares other days, and two cohorts", async (context) => {
    const { page, complaints } = await openPage(context, demo.base);
    await page.goto(`${demo.base}/#/fleet?table=waterfall`);
    await settled(page);
    const panel = page.locator("#panel-waterfall");
    await panel.getByRole("button", { name: /^Table: / }).click();
    await panel.getByText("Compare with other days, or two cohorts").click();
    const { last_day } = await demo.get("/fleet/dimensions");
    const at = (days) =>
      new Date(Date.parse(last_day) + days * 86_400_000).toISOString().slice(0, 10);
    await panel.getByLabel("Before: from").fill(at(-50));
    await panel.getByLabel("to", { exact: true }).fill(at(-36));
    await panel.getByLabel("Only before").selectOption("cluster:east");
    await panel.getByLabel("Only after").selectOption("cluster:west");
    await settled(page);
    const url = decodeURIComponent(page.url());
    for (const part of [
      `from_a=${at(-50)}`,
      `to_a=${at(-35)}`,
      "where_a=cluster:east",
      "where_b=cluster:west",
    ])
      ok(url.includes(part), `${part} is not in ${url}`);
    equal(await serious(page), [], "axe");
    await panel.getByRole("button", { name: /^Table: / }).click();
    const rows = await panel
      .locator("tbody tr")
      .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const { a, b, steps } = await demo.get(
      `/fleet/waterfall?metric=ett_pct&split=component&from_a=${at(-50)}&to_a=${at(-35)}&from_b=${at(-29)}&to_b=${at(1)}&where_a=cluster:east&where_b=cluster:west`,
    );
    equal(rows.length, steps.length + 2, "steps and the two sides");
    const [before, after] = [rows[0], rows.at(-1)];
    ok(before[0].startsWith("east, "), `before is ${before[0]}`);
    ok(after[0].startsWith("west, "), `after is ${after[0]}`);
    equal([before[2], after[2]], [share(a.value), share(b.value)], "ETT of the two");
    equal(before[1], `${a.count.toLocaleString("en")} counted`, "counted before");
    await panel.getByRole("button", { name: /^Table: / }).click();
    await panel.getByRole("button", { name: "Remove filter cluster:west" }).click();
    await settled(page);
    ok(!page.url().includes("where_b"), "a filter that is taken away stays");
    await panel.getByRole("button", { name: "Reset" }).click();
    await settled(page);
    ok(!/from_a|to_a|where_a/.test(page.url()), `reset leaves ${page.url()}`);
    equal(complaints, [], "complaints");
    await page.close();
  });

  harness.check("what missed compile caches is told by attempt and rank", async (context) => {
    const { page, complaints } = await openPage(context, demo.base);
    const { jobs } = await demo.get("/jobs?limit=500&state=finished");
    let report = null;
    for (const { job } of jobs) {
      const one = await demo.get(`/jobs/${job}/report`);
      if (one.compile_cache?.missed.length > 1) report = one;
      if (report) break;
    }
    ok(report, "no job of the demo missed anything twice");
    const { missed, misses } = report.compile_cache;
    const sum = missed.reduce((all, row) => all + row.count * row.misses, 0);
    equal(sum, misses, "rows, in sum");
    await page.goto(`${demo.base}/#/job/${report.job}`);
    await settled(page);
    const panel = page.locator("#panel-compile");
    const told = await panel
      .locator("tbody tr")
      .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const wanted = missed.map((row) => [
      `#${row.attempt < 65536 ? row.attempt : `${Math.floor(row.attempt / 65536)}.${row.attempt % 65536}`}`,
      row.ranks,
      row.misses.toLocaleString("en"),
      row.hits.toLocaleString("en"),
    ]);
    equal(told, wanted.slice(0, 5), "rows");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await panel.getByRole("button", { name: "Copy the line that shows graphs and causes" }).click();
    await page.getByText("Copied").first().waitFor();
    equal(
      await page.evaluate(() => navigator.clipboard.readText()),
      "headway trace /tmp/trace",
      "what is copied",
    );
    const linked = missed.find((row) => row.count <= 64);
    await panel.locator("tbody a").first().click();
    await settled(page);
    const shown = decodeURIComponent(page.url());
    ok(shown.includes(`ranks=${linked.ranks}`), `the link shows ${shown}`);
    equal(complaints, [], "complaints");
    await page.close();
  });

  harness.check("a link restores what was chosen, and back takes it back", async (context) => {
    const { page, complaints } = await openPage(context, demo.base);
    await page.goto(`${demo.base}/#/fleet`);
    await settled(page);
    await page.getByRole("button", { name: "90 d" }).click();
    await page.getByRole("button", { name: "by job" }).click();
    await page.getByLabel("Add filter").selectOption("cluster:east");
    await page.getByRole("button", { name: "Table: Where the fleet loses its hours" }).click();
    await settled(page);
    const url = page.url();
    for (const part of ["period=90d", "weight=job", "where=cluster:east", "table=losses"])
      ok(url.includes(part), `${part} is not in ${url}`);
    const shown = (one) =>
      one.evaluate(() => [
        ...[...document.querySelectorAll("[aria-pressed=true], button.chip")].map(
          (each) => each.getAttribute("aria-label") ?? each.textContent,
        ),
        ...[...document.querySelectorAll("#panel-losses tbody tr, #panel-rollup tbody tr")].map(
          (row) => row.cells[0].textContent,
        ),
      ]);
    const mine = await shown(page);
    const other = await openPage(context, demo.base);
    await other.page.goto(url);
    await settled(other.page);
    equal(await shown(other.page), mine, "what the link shows");
    await other.page.close();
    await page.goBack();
    await settled(page);
    ok(!page.url().includes("table=losses"), "back takes the last step back");
    equal([...complaints, ...other.complaints], [], "complaints");
    await page.close();
  });
}
