// Opens the page that `headway serve` itself serves, of a fleet that it made up and attributed, in a
// real browser. `node test/page/real.mjs [NAME]`; needs a built headway with its page, and a Chromium.

import { chromiumPath, WAIT_MAX_MS, withBrowser } from "./browser.mjs";
import { Collector, HEADWAY, isBuilt } from "./collector.mjs";
import { Harness } from "./harness.mjs";
import { addFoundChecks } from "./real_found.mjs";
import { addLifeChecks } from "./real_life.mjs";
import { addServedChecks } from "./real_served.mjs";
import { addViewChecks } from "./real_views.mjs";

if (!chromiumPath() || !isBuilt()) {
  console.log(`needs a Chromium (Debian's package chromium) and ${HEADWAY}`);
  process.exit(2);
}
const demo = new Collector(["--demo"]);
let failed = 1;
try {
  await demo.start();
  console.log(`headway serve --demo listens after ${(demo.took_ms / 1000).toFixed(1)} s`);
  const harness = new Harness();
  addServedChecks(harness, demo);
  addViewChecks(harness, demo);
  addFoundChecks(harness, demo);
  addLifeChecks(harness, demo);
  const only = process.argv[2];
  if (only) harness.checks = harness.checks.filter(({ name }) => name.includes(only));
  failed = await withBrowser((context) => {
    context.setDefaultTimeout(WAIT_MAX_MS);
    return harness.run(context);
  });
} finally {
  const how = await demo.close();
  if (how !== 0) {
    console.log(`FAIL  headway serve --demo ended with ${how}`);
    failed += 1;
  }
}
process.exit(failed ? 1 : 0);
