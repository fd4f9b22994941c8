// The timeline of the stand-in's largest job, zoomed by the wheel from weeks to milliseconds, and what
// its frames cost. Times are told, here, and judged by nobody but who reads a benchmark.

import { openPage, settled } from "./browser.mjs";

export function bigJob(fixture) {
  const running = fixture.fleet.jobs.filter((job) => job.state === "running");
  return running.reduce((x, y) =>
    y.attempts.length * Math.min(72, y.devices) > x.attempts.length * Math.min(72, x.devices)
      ? y
      : x,
  ).name;
}

export function quantile(values, p) {
  const sorted = values.toSorted((x, y) => x - y);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
}

export const tookMs = (frames) => frames.map((frame) => frame.took_ms);
export const segmentsMost = (frames) => Math.max(...frames.map((frame) => frame.segments));

export function told(frames) {
  const at = (p) => quantile(tookMs(frames), p).toFixed(1);
  return `${frames.length} frames, ${segmentsMost(frames)} segments looked at, draw p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`;
}

/** A page that keeps what its timeline drew, and the time from each frame of the browser to the next. */
export async function openWatched(context, base, hash) {
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

/** `wide`: frames that show the whole job; `frames`: all of them; `gaps_ms`: while the wheel turns. */
export async function zoomThrough(page) {
  const box = await page.locator(".timeline canvas").boundingBox();
  await page.evaluate(() => {
    window.headwayFrames.length = 0;
    window.gaps.length = 0;
  });
  await page.mouse.move(box.x + box.width * 0.6, box.y + 90);
  const turn = async (delta) => {
    await page.mouse.wheel(0, delta);
    await page.waitForTimeout(16);
  };
  for (let n = 0; n < 12; ++n) await turn(n % 2 ? -40 : 40);
  const wide = await page.evaluate(() => window.headwayFrames.slice());
  for (let n = 0; n < 90; ++n) await turn(-140);
  const gaps_ms = await page.evaluate(() => window.gaps.slice());
  await settled(page);
  return { wide, frames: await page.evaluate(() => window.headwayFrames), gaps_ms };
}
