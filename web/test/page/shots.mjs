// Pictures of every view of a real `headway serve --demo`, in both themes, on a small screen and a wide
// one, into build/page-shots. `node test/page/shots.mjs [URL]`: of a collector that runs already.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openPage, settled, withBrowser } from "./browser.mjs";
import { Collector } from "./collector.mjs";
import { viewsOf } from "./real_views.mjs";

const out = fileURLToPath(new URL("../../../build/page-shots/", import.meta.url));
mkdirSync(out, { recursive: true });
const given = process.argv[2];
const demo = new Collector(["--demo"]);
if (given) demo.base = given;
else await demo.start();
try {
  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
    ["light", 1920],
  ]) {
    await withBrowser(
      async (context) => {
        const { page, complaints } = await openPage(context, demo.base);
        for (const [name, hash] of Object.entries(await viewsOf(demo))) {
          await page.goto("about:blank");
          await page.goto(`${demo.base}/${hash}`);
          await settled(page);
          const file = `${out}${name.replaceAll(/\W+/g, "-")}-${theme}-${width}`;
          if (width === 1280) await page.screenshot({ path: `${file}-first.png` });
          await page.screenshot({ path: `${file}.png`, fullPage: true });
        }
        console.log(theme, width, complaints);
      },
      { colorScheme: theme, viewport: { width, height: 800 } },
    );
  }
} finally {
  if (!given) await demo.close();
}
