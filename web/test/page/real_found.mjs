// What the demo puts into its fleet is found by the collector, and told on the page as what it is.

import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";

const DAY_S = 86_400;
// As in src/demo/plan.h.
const DAYS = 90;
const MIX_SHIFT_DAY = 60;
const PREEMPTIONS_DAY = 70;
const REGRESSION_DAY = 83;

export function addFoundChecks(harness, demo) {
  const day = async (number) => {
    const { started_ns } = await demo.get("/status");
    return Math.floor(started_ns / 1e9 / DAY_S) - DAYS + 1 + number;
  };
  const text = (number) =>
    new Date(number * DAY_S * 1000).toLocaleDateString("en-GB", {
      day: "numeric",
      month: "short",
      timeZone: "UTC",
    });

  harness.check(
    "the regression that was put in is found: since when, and what came with it",
    async (context) => {
      const { regressions } = await demo.get("/regressions?state=open");
      const found = regressions.find(
        (one) => one.component === "compile_warm" && one.stratum.family === "dlrm-ctr",
      );
      ok(found, `not among ${JSON.stringify(regressions.map((one) => [one.label, one.stratum]))}`);
      const began = Math.floor(found.began_ns / 1e9 / DAY_S);
      ok(Math.abs(began - (await day(REGRESSION_DAY))) <= 1, `it began on ${text(began)}`);
      equal(
        [found.separates[0].field, found.separates[0].value],
        ["torch", "2.13.1"],
        "what is new",
      );
      const { page } = await openPage(context, demo.base);
      await page.goto(demo.base);
      await settled(page);
      // Its recoveries may be one more row: they are another series of the same change.
      const row = page.locator(`#panel-verdict tbody tr:has(a[href*="id=${found.id}"])`);
      const told = await row.innerText();
      for (const word of ["warm compile", "dlrm-ctr", "torch 2.13.1", text(began)])
        ok(told.includes(word), `"${word}" is not told: ${told}`);
      const box = await row.boundingBox();
      ok(box.y + box.height <= 800, "it is not on the first screen");
      await row.getByRole("link").first().click();
      await settled(page);
      await page
        .locator(`#panel-r-${found.id}`)
        .getByText("What the dip of ETT% is made of")
        .waitFor();
      await page.close();
    },
  );

  harness.check(
    "what is open is marked on the trend of ETT%, and told to who cannot see it",
    async (context) => {
      const { regressions } = await demo.get("/regressions?state=open");
      const { page } = await openPage(context, demo.base);
      await page.goto(demo.base);
      await settled(page);
      const panel = page.locator("#panel-trend");
      const label = await panel.getByRole("img").getAttribute("aria-label");
      const found = regressions.find((one) => one.component === "compile_warm");
      const began = text(Math.floor(found.began_ns / 1e9 / DAY_S));
      const marks = label.split("Regressions: ")[1]?.split(", ") ?? [];
      const words = `warm compile at start · ${found.stratum.family}`;
      const mark = marks.find((one) => one.startsWith(words) && one.includes(`since ${began}`));
      ok(mark, `"${words} … since ${began}" is not in ${label}`);
      // Above the plot there is nothing red but marks and their words.
      const red = () =>
        panel.locator("canvas").evaluate((canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 40);
          let count = 0;
          for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] > 0 && data[i] > Math.max(data[i + 1], data[i + 2]) + 40) count += 1;
          return count;
        });
      ok((await red()) > 0, "no mark is drawn");
      await panel.getByRole("button", { name: /^Table: / }).click();
      const row = panel.getByRole("row", { name: began, exact: false }).first();
      ok((await row.innerText()).includes(words), `the row of ${began}: ${await row.innerText()}`);
      // Where its family is left out, it is.
      await page.goto(`${demo.base}/#/fleet?where=family:llm-70b`);
      await settled(page);
      const other = await panel.getByRole("img").getAttribute("aria-label");
      ok(!other.includes(found.stratum.family), `of llm-70b alone: ${other}`);
      ok(other.includes("Regressions") || (await red()) === 0, "a mark without words");
      await page.close();
    },
  );

  harness.check("the preemption wave and the mix shift are told as such", async (context) => {
    const { page } = await openPage(context, demo.base);
    await page.goto(demo.base);
    await settled(page);
    const also = page.locator("#panel-verdict .also");
    await also.waitFor();
    const told = await also.innerText();
    const first = await day(PREEMPTIONS_DAY);
    ok(/preemptions came in a wave/i.test(told), `no wave is told: ${told}`);
    ok(
      [first - 1, first, first + 1].some((one) => told.includes(text(one))),
      `${text(first)} is not told: ${told}`,
    );
    ok(/other jobs ran/i.test(told), `no shift of the mix is told: ${told}`);
    ok(told.includes("llm-7b"), `the family that grew is not told: ${told}`);
    // The period on show begins within a day of the shift.
    ok(Math.abs(DAYS - 30 - MIX_SHIFT_DAY) <= 1, "the demo's mix shift lies elsewhere");
    const { steps } = await demo.get(await waterfallOf(demo));
    const mix = steps.find((step) => step.kind === "mix");
    ok(mix && mix.delta < 0 && mix.high < 0, `the mix's step: ${JSON.stringify(mix)}`);
    await page.close();
  });

  harness.check(
    "the straggler of the large job is named, and reached on the timeline",
    async (context) => {
      const { page } = await openPage(context, demo.base);
      await page.goto(`${demo.base}/#/job/llm-70b-pretrain`);
      await settled(page);
      const row = page.locator("#panel-stragglers tbody tr").first();
      ok((await row.innerText()).includes("203"), `the slowest is ${await row.innerText()}`);
      const timeline = await demo.get("/jobs/llm-70b-pretrain/timeline?slices=50");
      ok(
        timeline.lanes.some((lane) => lane.rank === 203),
        "rank 203 has no row",
      );
      await row.getByRole("link").click();
      await settled(page);
      ok(/ranks=/.test(page.url()), `the link shows no ranks: ${page.url()}`);
      const stage = page.getByRole("application");
      await stage.focus();
      await page.keyboard.press("Enter");
      await page.keyboard.press("ArrowDown");
      await page.waitForFunction(
        () => /rank \d+/.test(document.querySelector(".hidden[role=status]").textContent),
        null,
        { polling: 100 },
      );
      await page.close();
    },
  );
}

async function waterfallOf(demo) {
  const { last_day } = await demo.get("/fleet/dimensions");
  const at = (days) =>
    new Date(Date.parse(last_day) + days * DAY_S * 1000).toISOString().slice(0, 10);
  return `/fleet/waterfall?metric=ett_pct&split=lever&from_a=${at(-59)}&to_a=${at(-29)}&from_b=${at(-29)}&to_b=${at(1)}`;
}
