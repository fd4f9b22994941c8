// What axe-core finds serious or critical on a page, in a line each.

import axe from "axe-core";

export async function serious(page) {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter((one) => ["serious", "critical"].includes(one.impact))
      .map(
        (one) =>
          `${one.id}: ${one.nodes
            .slice(0, 3)
            .map((node) => node.html.slice(0, 140))
            .join(" | ")}`,
      );
  });
}
