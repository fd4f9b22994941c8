// What somebody does who sees the page for the first time: each of its views, one after the other.

import { openPage, settled } from "./browser.mjs";

/** The page is still open; how long until the fleet was shown, and all four views. */
export async function seeEveryView(context, base) {
  const begun = Date.now();
  const { page, complaints } = await openPage(context, base);
  await page.goto(base);
  await settled(page);
  const first_ms = Date.now() - begun;
  await page.getByText("demo data").waitFor();
  for (const view of ["Regressions", "Jobs"]) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }).click();
    await settled(page);
  }
  await page.getByRole("rowheader").getByRole("link").first().click();
  await settled(page);
  return { page, complaints, first_ms, all_ms: Date.now() - begun };
}
