// Pictures of every view, in both themes and on a small screen, into build/page-shots.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { FixtureServer } from "../fixture/server.mjs";
import { openPage, settled, withBrowser } from "./browser.mjs";

const out = fileURLToPath(new URL("../../../build/page-shots/", import.meta.url));
mkdirSync(out, { recursive: true });
const fixture = new FixtureServer();
const base = await fixture.listen();
const job = fixture.fleet.jobs.find((one) => one.state === "running" && one.family === "dlrm").name;
const views = {
  fleet: "#/fleet",
  "fleet-90d-by-family": "#/fleet?period=90d&by=family&wf=time_to_start_s&split=lever",
  "fleet-tables": "#/fleet?table=trend&table=losses&table=waterfall&table=failures&table=rollup",
  regressions: "#/regressions?state=all",
  jobs: "#/jobs",
  job: `#/job/${job}`,
  "job-zoom": `#/job/${job}?t=86400000000000-86700000000000`,
};
const only = process.argv[2];
for (const [theme, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
]) {
  await withBrowser(
    async (context) => {
      const { page, complaints } = await openPage(context, base);
      for (const [name, hash] of Object.entries(views)) {
        if (only && !name.startsWith(only)) continue;
        await page.goto("about:blank");
        await page.goto(`${base}/${hash}`);
        await settled(page);
        const file = `${out}${name}-${theme}-${width}`;
        if (width === 1280) await page.screenshot({ path: `${file}-first.png` });
        await page.screenshot({ path: `${file}.png`, fullPage: true });
      }
      console.log(theme, width, complaints);
    },
    { colorScheme: theme, viewport: { width, height: 800 } },
  );
}
await fixture.close();
