// Opens the built page in a real browser against the fixture server, for what a real collector cannot
// easily be brought to show: failing parts, and a timeline of 100,000 segments. All else is checked with
// a real one (real.mjs). `node test/page/run.mjs`; needs `npm run build` before, and a Chromium.

import { FixtureServer } from "../fixture/server.mjs";
import { SEED } from "../fixture/random.mjs";
import { chromiumPath, WAIT_MAX_MS, withBrowser } from "./browser.mjs";
import { addLinkChecks } from "./checks_links.mjs";
import { addStateChecks } from "./checks_states.mjs";
import { addTimelineChecks } from "./checks_timeline.mjs";
import { addWidthChecks } from "./checks_widths.mjs";
import { Harness } from "./harness.mjs";

if (!chromiumPath()) {
  console.log("no Chromium here: install the Debian package chromium");
  process.exit(2);
}
console.log(`seed ${SEED}`);
const fixture = new FixtureServer();
const base = await fixture.listen();
const harness = new Harness();
addLinkChecks(harness, fixture, base);
addTimelineChecks(harness, fixture, base);
addWidthChecks(harness, fixture, base);
addStateChecks(harness);
const only = process.argv[2];
if (only) harness.checks = harness.checks.filter(({ name }) => name.includes(only));
const failed = await withBrowser((context) => {
  context.setDefaultTimeout(WAIT_MAX_MS);
  return harness.run(context);
});
await fixture.close();
process.exit(failed ? 1 : 0);
