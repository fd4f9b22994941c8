// What comes over the wire: the page as it was built, its policy, and how browsers may keep it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { equal, ok } from "./harness.mjs";
import { seeEveryView } from "./newcomer.mjs";

const DIST = process.env.HEADWAY_PAGE_DIST ?? fileURLToPath(new URL("../../dist", import.meta.url));

export function addServedChecks(harness, demo) {
  harness.check(
    "the binary holds the page as it is built now, and asks for nothing else",
    async () => {
      const answer = await fetch(`${demo.base}/`);
      equal(answer.status, 200, "status");
      const page = await answer.text();
      const built = readFileSync(join(DIST, "index.html"), "utf8");
      ok(page === built, "the binary's page is older than web: build it again (./dev build)");
      const policy = answer.headers.get("content-security-policy");
      for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'"])
        ok(policy?.includes(part), `${part} is not in the policy: ${policy}`);
      ok(!policy.includes("unsafe"), `the policy has exceptions: ${policy}`);
      equal(answer.headers.get("x-content-type-options"), "nosniff", "sniffing");
      for (const [, path] of page.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
        const file = await fetch(demo.base + path);
        equal(file.status, 200, path);
        ok(Buffer.from(await file.arrayBuffer()).equals(readFileSync(join(DIST, path))), path);
        if (!path.startsWith("/assets/")) continue;
        ok(file.headers.get("cache-control").includes("immutable"), `${path}: may be kept`);
        equal(file.headers.get("content-encoding"), "gzip", `${path}: packed`);
      }
      const again = await fetch(`${demo.base}/`, {
        headers: { "If-None-Match": answer.headers.get("etag") },
      });
      equal(again.status, 304, "asked for what one has");
      equal((await fetch(`${demo.base}/assets/none.js`)).status, 404, "what is not there");
    },
  );

  harness.check("a newcomer sees every view", async (context) => {
    const { page, complaints, first_ms, all_ms } = await seeEveryView(context, demo.base);
    equal(await page.locator(".told:has(button)").count(), 0, "panels that failed");
    equal(complaints, [], "complaints");
    const s = (ms) => ((demo.took_ms + ms) / 1000).toFixed(1);
    console.log(
      `      listens after ${s(0)} s, the fleet after ${s(first_ms)} s, all four views after ${s(all_ms)} s`,
    );
    await page.close();
  });
}
