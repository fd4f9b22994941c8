// No view is wider than the window it is in, and no words are printed over others.

import { openPage, settled } from "./browser.mjs";
import { equal } from "./harness.mjs";

const WIDTHS = [360, 390, 600, 660, 780, 900, 1024, 1200];

const flaws = (page) =>
  page.evaluate(() => {
    const found = [];
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) found.push(`wider than the window: ${wide}`);
    for (const panel of document.querySelectorAll(".panel")) {
      const { right } = panel.getBoundingClientRect();
      const beyond = [...panel.querySelectorAll("button, td, li")].find(
        (one) => !one.closest(".scroll") && one.getBoundingClientRect().right > right + 1,
      );
      if (beyond) found.push(`${panel.id}: outside of it: ${beyond.textContent.slice(0, 40)}`);
    }
    for (const cell of document.querySelectorAll("main tbody td, main .bars .num"))
      if (cell.clientWidth && cell.scrollWidth > cell.clientWidth + 2)
        found.push(`over its neighbour: ${cell.dataset.label ?? ""} ${cell.textContent}`);
    for (const row of document.querySelectorAll("main thead tr")) {
      const ends = [...row.cells]
        .filter((cell) => cell.clientWidth && !cell.closest(".hidden"))
        .map((cell) => {
          const words = document.createRange();
          words.selectNodeContents(cell.querySelector("button") ?? cell);
          return Math.max(0, ...[...words.getClientRects()].map((one) => one.bottom));
        })
        .filter((end) => end > 0);
      if (Math.max(...ends) - Math.min(...ends) > 1 && innerWidth > 1020)
        found.push(`heads at different heights: ${row.innerText} ${ends}`);
    }
    return [...new Set(found)].slice(0, 5);
  });

export function addWidthChecks(harness, fixture, base) {
  const job = fixture.fleet.jobs.reduce((x, y) =>
    y.attempts.length > x.attempts.length ? y : x,
  ).name;
  for (const hash of ["#/fleet", "#/regressions?state=all", "#/jobs", `#/job/${job}`])
    harness.check(`no screen is too narrow for ${hash.split("?")[0]}`, async (context) => {
      const { page } = await openPage(context, base);
      await page.goto(`${base}/${hash}`);
      await settled(page);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
        await page.waitForTimeout(200);
        equal(await flaws(page), [], `${hash} at ${width} px`);
      }
      await page.close();
    });
}
