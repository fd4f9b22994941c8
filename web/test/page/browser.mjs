// A real Chromium without a window, with an empty profile, and everything it complains about.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const PATHS = [process.env.HEADWAY_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function chromiumPath() {
  return PATHS.find((path) => path && existsSync(path)) ?? null;
}

export async function withBrowser(use, options = {}) {
  const profile = mkdtempSync(join(tmpdir(), "headway-page-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath(),
    args: FLAGS,
    headless: true,
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  try {
    return await use(context);
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** A page that remembers complaints and requests that left its own origin. */
export async function openPage(context, base) {
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("data:"))
      complaints.push(`asked elsewhere: ${url}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  return { page, complaints };
}

/** How long a check waits for what has to come. Nothing is judged by it: a machine that has much else
 * to do is slow, and one that waits in vain says for what. */
export const WAIT_MAX_MS = 150_000;

/** Nothing is loading any more: no skeleton, no busy panel. Else says what still was. A page behind
 * another one gets no frames, in which waiting would look: it is brought to the front. */
export async function settled(page) {
  await page.bringToFront();
  try {
    await page.waitForFunction(
      () =>
        document.querySelector("main h1") &&
        !document.querySelector(".skeleton, .body.busy, [aria-busy=true]") &&
        !document.body.innerText.includes("loading detail"),
      null,
      { timeout: WAIT_MAX_MS, polling: 100 },
    );
  } catch (error) {
    throw new Error(`${error.message}\n${await whatWaits(page)}`);
  }
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        setTimeout(resolve, 2000);
        requestAnimationFrame(() => requestAnimationFrame(resolve));
      }),
  );
}

function whatWaits(page) {
  return page.evaluate(() => {
    const waiting = [...document.querySelectorAll(".skeleton, .body.busy, [aria-busy=true]")];
    const asked = performance
      .getEntriesByType("resource")
      .map((one) => `${Math.round(one.startTime)}+${Math.round(one.duration)} ms ${one.name}`);
    return [
      `at ${location.href}, ${Math.round(performance.now())} ms old, ${document.visibilityState}`,
      ...waiting.map((one) => `waits: ${one.outerHTML.slice(0, 200)}`),
      ...asked.map((one) => `had: ${one}`),
      document.body.innerText.slice(0, 600),
    ].join("\n");
  });
}
