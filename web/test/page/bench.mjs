// Measures the page in a real Chromium, for bench/bench_page.py: one line of JSON with what was
// measured, in ms and s. `node test/page/bench.mjs [STARTS]`.

import { join } from "node:path";
import { FixtureServer } from "../fixture/server.mjs";
import { chromiumPath, openPage, settled, WAIT_MAX_MS, withBrowser } from "./browser.mjs";
import { Collector, HEADWAY, isBuilt } from "./collector.mjs";
import { NewJob, untilShown } from "./new_job.mjs";
import { seeEveryView } from "./newcomer.mjs";
import { bigJob, openWatched, segmentsMost, tookMs, zoomThrough } from "./zoom.mjs";

const STARTS = Number(process.argv[2] ?? 10);

/** Beside a job that goes on, so that the page has always just asked for something. */
async function newJobs(context) {
  const collector = new Collector([]);
  collector.args = ["--store", join(collector.folder, "store.db")];
  const open = [];
  try {
    await collector.start();
    open.push(new NewJob(collector, "beside"));
    const { page } = await openPage(context, collector.base);
    await page.goto(`${collector.base}/#/jobs`);
    await page.locator("#panel-jobs tbody a").first().waitFor();
    await settled(page);
    const found = [];
    for (let n = 0; n < STARTS; ++n) {
      // At other moments of what goes on beside it each time.
      await page.waitForTimeout(1000 + ((n * 370) % 1000));
      const { job, launch_s, event_s } = await untilShown(page, collector, `new-${n}`);
      open.push(job);
      found.push({ launch_s, event_s });
      await job.end();
      open.pop();
    }
    await page.close();
    return found;
  } finally {
    for (const job of open) await job.end();
    await collector.close();
  }
}

async function timeline(context) {
  const fixture = new FixtureServer();
  try {
    const base = await fixture.listen();
    const { page } = await openWatched(context, base, `#/job/${bigJob(fixture)}`);
    const { wide, frames, gaps_ms } = await zoomThrough(page);
    await page.close();
    return { gaps_ms, draw_ms: tookMs(frames), segments: segmentsMost(wide) };
  } finally {
    await fixture.close();
  }
}

async function demo(context) {
  const collector = new Collector(["--demo"]);
  try {
    await collector.start();
    const { page, first_ms, all_ms } = await seeEveryView(context, collector.base);
    await page.close();
    const s = (ms) => (collector.took_ms + ms) / 1e3;
    return { listens_s: s(0), fleet_s: s(first_ms), all_views_s: s(all_ms) };
  } finally {
    await collector.close();
  }
}

if (!chromiumPath() || !isBuilt()) {
  console.log(`needs a Chromium (Debian's package chromium) and ${HEADWAY}`);
  process.exit(2);
}
const measured = await withBrowser(async (context) => {
  context.setDefaultTimeout(WAIT_MAX_MS);
  return {
    demo: await demo(context),
    new_jobs: await newJobs(context),
    timeline: await timeline(context),
  };
});
console.log(JSON.stringify(measured));
