// The timeline: zoom, pan and keys change its window, it draws again, and the link brings it back.
// Times of frames are printed, never judged.

import { openPage, settled } from "./browser.mjs";
import { equal, ok } from "./harness.mjs";

const SEGMENTS_MIN = 100_000;
/** That one frame may look at: rows times slices of an answer, twice where a finer layer lies on it. */
const SEGMENTS_MAX = 2 * 72 * 2 * 4000;

function bigJob(fixture) {
  const running = fixture.fleet.jobs.filter((job) => job.state === "running");
  return running.reduce((x, y) =>
    y.attempts.length * Math.min(72, y.devices) > x.attempts.length * Math.min(72, x.devices)
      ? y
      : x,
  ).name;
}

const windowOf = (url) => /[?&]t=(\d+)-(\d+)/.exec(url)?.slice(1).map(Number) ?? null;
const picture = (page) =>
  page.evaluate(() => document.querySelector(".timeline canvas").toDataURL().length);

function told(frames) {
  const sorted = frames.map((frame) => frame.took_ms).sort((x, y) => x - y);
  const at = (p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))].toFixed(1);
  const segments = Math.max(...frames.map((frame) => frame.segments));
  return `${frames.length} frames, ${segments} segments looked at, draw p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`;
}

async function open(context, base, hash) {
  const opened = await openPage(context, base);
  await opened.page.addInitScript(() => {
    window.headwayFrames = [];
    window.gaps = [];
    let last = 0;
    const tick = (now) => {
      if (last) window.gaps.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await opened.page.goto(`${base}/${hash}`);
  await settled(opened.page);
  return opened;
}

export function addTimelineChecks(harness, fixture, base) {
  const job = bigJob(fixture);
  harness.check(
    "the wheel zooms from weeks to milliseconds with 100k segments",
    async (context) => {
      const { page, complaints } = await open(context, base, `#/job/${job}`);
      const box = await page.locator(".timeline canvas").boundingBox();
      const before = await picture(page);
      await page.evaluate(() => {
        window.headwayFrames.length = 0;
        window.gaps.length = 0;
      });
      await page.mouse.move(box.x + box.width * 0.6, box.y + 90);
      for (let n = 0; n < 12; ++n) {
        await page.mouse.wheel(0, n % 2 ? -40 : 40);
        await page.waitForTimeout(16);
      }
      const wide = await page.evaluate(() => window.headwayFrames);
      console.log(`      whole job: ${told(wide)}`);
      ok(
        Math.max(...wide.map((frame) => frame.segments)) >= SEGMENTS_MIN,
        `fewer than ${SEGMENTS_MIN} segments`,
      );
      const most = Math.max(...wide.map((frame) => frame.segments));
      ok(most <= SEGMENTS_MAX, `a frame looks at ${most} segments`);
      for (let n = 0; n < 90; ++n) {
        await page.mouse.wheel(0, -140);
        await page.waitForTimeout(16);
      }
      await settled(page);
      await page.waitForFunction(() => /[?&]t=/.test(location.hash));
      const [from, to] = windowOf(page.url());
      console.log(`      zooming in: ${told(await page.evaluate(() => window.headwayFrames))}`);
      const gaps = (await page.evaluate(() => window.gaps)).sort((x, y) => x - y);
      console.log(
        `      between frames: p50 ${gaps[gaps.length >> 1].toFixed(1)} ms, p95 ${gaps[Math.floor(gaps.length * 0.95)].toFixed(1)} ms, max ${gaps.at(-1).toFixed(1)} ms; window now ${((to - from) / 1e6).toFixed(2)} ms`,
      );
      ok((await picture(page)) !== before, "the picture is the same");
      const fine = fixture.asked.filter((path) => path.includes("/timeline?from_ns"));
      ok(fine.length > 0, "no finer slices were asked for");
      equal(complaints, [], "complaints");
      const other = await open(context, base, new URL(page.url()).hash);
      equal(windowOf(other.page.url()), [from, to], "the window of the link");
      const note = (one) => one.locator(".timeline .note").innerText();
      equal(await note(other.page), await note(page), "what the bar says");
      await other.page.close();
      await page.close();
    },
  );

  harness.check("dragging pans, and the tip names what is under the mouse", async (context) => {
    const { page, complaints } = await open(
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
    const { page } = await open(context, base, `#/job/${job}`);
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
    const { page } = await open(context, base, `#/job/${job}?attempt=3`);
    const [, , third] = fixture.fleet.jobs.find((one) => one.name === job).attempts;
    const said = await page.locator(".timeline .note").innerText();
    const hours = (third.end_s - third.begin_s) / 3600;
    const [, shown, unit] = /, ([\d.]+)\s(min|h|d)/.exec(said);
    const length = Number(shown) * { min: 1 / 60, h: 1, d: 24 }[unit];
    ok(Math.abs(length / hours - 1.06) < 0.02, `${said} for an attempt of ${hours} h`);
    await page.close();
  });

  harness.check("a failure's time leads to its place on the timeline", async (context) => {
    const { page } = await open(context, base, `#/job/${job}`);
    await page.locator("#panel-job-failures tbody a").first().click();
    await settled(page);
    const [from, to] = windowOf(page.url());
    ok(to - from <= 1200e9 + 10, "twenty minutes at most");
    const box = await page.locator(".timeline canvas").boundingBox();
    ok(box.y < 800 && box.y + 60 > 0, "the timeline is not on the screen");
    await page.close();
  });
}
