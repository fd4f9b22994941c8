// The timeline: zoom, pan and keys change its window, it draws again, and the link brings it back.
// Times of frames are printed, never judged.

import { settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";
import { bigJob, openWatched, quantile, segmentsMost, told, zoomThrough } from "./zoom.mjs";

const SEGMENTS_MIN = 100_000;
/** That one frame may look at: rows times slices of an answer, twice where a finer layer lies on it. */
const SEGMENTS_MAX = 2 * 72 * 2 * 4000;

const windowOf = (url) => /[?&]t=(\d+)-(\d+)/.exec(url)?.slice(1).map(Number) ?? null;
const picture = (page) =>
  page.evaluate(() => document.querySelector(".timeline canvas").toDataURL().length);

export function addTimelineChecks(harness, fixture, base) {
  const job = bigJob(fixture);
  harness.check(
    "the wheel zooms from weeks to milliseconds with 100k segments",
    async (context) => {
      const { page, complaints } = await openWatched(context, base, `#/job/${job}`);
      const before = await picture(page);
      const { wide, frames, gaps_ms } = await zoomThrough(page);
      console.log(`      whole job: ${told(wide)}`);
      const most = segmentsMost(wide);
      ok(most >= SEGMENTS_MIN, `fewer than ${SEGMENTS_MIN} segments`);
      ok(most <= SEGMENTS_MAX, `a frame looks at ${most} segments`);
      await page.waitForFunction(() => /[?&]t=/.test(location.hash));
      const [from, to] = windowOf(page.url());
      console.log(`      zooming in: ${told(frames)}`);
      const gap = (p) => quantile(gaps_ms, p).toFixed(1);
      console.log(
        `      between frames: p50 ${gap(0.5)} ms, p95 ${gap(0.95)} ms, max ${gap(1)} ms; window now ${((to - from) / 1e6).toFixed(2)} ms`,
      );
      ok((await picture(page)) !== before, "the picture is the same");
      const fine = fixture.asked.filter((path) => path.includes("/timeline?from_ns"));
      ok(fine.length > 0, "no finer slices were asked for");
      equal(complaints, [], "complaints");
      const other = await openWatched(context, base, new URL(page.url()).hash);
      equal(windowOf(other.page.url()), [from, to], "the window of the link");
      const note = (one) => one.locator(".timeline .note").innerText();
      equal(await note(other.page), await note(page), "what the bar says");
      await other.page.close();
      await page.close();
    },
  );

  harness.check("dragging pans, and the tip names what is under the mouse", async (context) => {
    const { page, complaints } = await openWatched(
      context,
      base,
      `#/job/${job}?t=86400000000000-90000000000000`,
    );
    const box = await page.locator(".timeline canvas").boundingBox();
    await page.mouse.move(box.x + 600, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 300, box.y + 100, { steps: 6 });
    await page.mouse.up();
    await page.waitForFunction(() => !location.hash.includes("t=86400000000000-"));
    const [from, to] = windowOf(page.url());
    ok(from > 86400e9 && Math.abs(to - from - 3600e9) < 10, `panned to ${from}-${to}`);
    await settled(page);
    await page.mouse.move(box.x + 500, box.y + 62);
    const tip = await page.locator(".timeline .tip").innerText();
    ok(/attempt \d+/.test(tip), `the tip says ${tip}`);
    equal(complaints, [], "complaints");
    await page.close();
  });

  harness.check("keys zoom, pan, go to failures and read what is there", async (context) => {
    const { page } = await openWatched(context, base, `#/job/${job}`);
    const stage = page.getByRole("application");
    await stage.focus();
    await page.keyboard.press("+");
    await page.waitForFunction(() => /[?&]t=/.test(location.hash));
    const [from, to] = windowOf(page.url());
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((old) => !location.hash.includes(`t=${old}-`), from);
    ok(
      Math.abs(windowOf(page.url())[0] - (from + (to - from) * 0.2)) < 10,
      "an arrow pans by a fifth",
    );
    await page.keyboard.press("]");
    await page.waitForTimeout(600);
    await settled(page);
    const [a, b] = windowOf(page.url());
    const begin_s = fixture.fleet.jobs.find((one) => one.name === job).attempts[0].begin_s;
    const near = fixture.fleet.jobs
      .find((one) => one.name === job)
      .attempts.some(
        (one) => one.failure && Math.abs((one.failure.t_s - begin_s) * 1e9 - (a + b) / 2) < 1e6,
      );
    ok(near, "the middle of the window is no failure");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() =>
      /attempt \d+/.test(document.querySelector(".hidden[role=status]").textContent),
    );
    await page.keyboard.press("0");
    await page.waitForFunction(() => !/[?&]t=/.test(location.hash));
    await page.close();
  });

  harness.check("a link to an attempt shows that attempt", async (context) => {
    const { page } = await openWatched(context, base, `#/job/${job}?attempt=3`);
    const [, , third] = fixture.fleet.jobs.find((one) => one.name === job).attempts;
    const said = await page.locator(".timeline .note").innerText();
    const hours = (third.end_s - third.begin_s) / 3600;
    const [, shown, unit] = /, ([\d.]+)\s(min|h|d)/.exec(said);
    const length = Number(shown) * { min: 1 / 60, h: 1, d: 24 }[unit];
    ok(Math.abs(length / hours - 1.06) < 0.02, `${said} for an attempt of ${hours} h`);
    await page.close();
  });

  harness.check("a failure's time leads to its place on the timeline", async (context) => {
    const { page } = await openWatched(context, base, `#/job/${job}`);
    await page.locator("#panel-job-failures tbody a").first().click();
    await settled(page);
    const [from, to] = windowOf(page.url());
    ok(to - from <= 1200e9 + 10, "twenty minutes at most");
    const box = await page.locator(".timeline canvas").boundingBox();
    ok(box.y < 800 && box.y + 60 > 0, "the timeline is not on the screen");
    await page.close();
  });
}
