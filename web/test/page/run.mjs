// Opens the built page in a real browser against the fixture server and checks what people rely on.
// `node test/page/run.mjs`; needs `npm run build` before, and a Chromium.

import { FixtureServer } from "../fixture/server.mjs";
import { SEED } from "../fixture/random.mjs";
import { chromiumPath, withBrowser } from "./browser.mjs";
import { addLinkChecks } from "./checks_links.mjs";
import { addStateChecks } from "./checks_states.mjs";
import { addTimelineChecks } from "./checks_timeline.mjs";
import { addViewChecks } from "./checks_views.mjs";
import { Harness } from "./harness.mjs";

if (!chromiumPath()) {
  console.log("no Chromium here: install the Debian package chromium");
  process.exit(2);
}
console.log(`seed ${SEED}`);
const fixture = new FixtureServer();
const base = await fixture.listen();
const harness = new Harness();
addViewChecks(harness, fixture, base);
addLinkChecks(harness, fixture, base);
addTimelineChecks(harness, fixture, base);
addStateChecks(harness);
const only = process.argv[2];
if (only) harness.checks = harness.checks.filter(({ name }) => name.includes(only));
const failed = await withBrowser((context) => {
  context.setDefaultTimeout(30_000);
  return harness.run(context);
});
await fixture.close();
process.exit(failed ? 1 : 0);
