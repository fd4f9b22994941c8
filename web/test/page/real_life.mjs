// A real collector while one looks: jobs that go on, tokens, its end and its return, an acknowledgement.

import { join } from "node:path";
import { serious } from "./axe.mjs";
import { openPage, settled } from "./browser.mjs";
import { Collector, headway } from "./collector.mjs";
import { equal, ok } from "./harness.mjs";
import { untilShown } from "./new_job.mjs";

/** Answers of 401, and connections that fail, are what some checks are about. */
const own = (complaints) =>
  complaints.filter((text) => !/Failed to load resource|net::ERR/.test(text));

async function withCollector(args, use) {
  const collector = new Collector(args);
  try {
    return await use(collector);
  } finally {
    await collector.close();
  }
}

const newToken = (role, store) =>
  headway("serve", "token", "add", "--role", role, "--store", store).trim().split(/\s+/).at(-1);

export function addLifeChecks(harness, demo) {
  harness.check("a job that runs gets longer by itself", async (context) => {
    const { page, complaints } = await openPage(context, demo.base);
    await page.goto(`${demo.base}/#/job/llm-70b-pretrain`);
    await settled(page);
    await page.locator(".dot.live").waitFor();
    await page.getByText("running", { exact: true }).first().waitFor();
    await page.evaluate(() => (window.stillHere = true));
    const end = () =>
      page.evaluate(
        () => / to (.+?), /.exec(document.querySelector(".timeline .note").innerText)?.[1],
      );
    let before = await end();
    for (let n = 0; n < 2; ++n) {
      await page.waitForFunction(
        (old) => {
          const now = / to (.+?), /.exec(document.querySelector(".timeline .note").innerText)?.[1];
          return now && now !== old;
        },
        before,
        { polling: 200 },
      );
      before = await end();
    }
    ok(await page.evaluate(() => window.stillHere), "the page was loaded again");
    equal(complaints, [], "complaints");
    await page.close();
  });

  harness.check("jobs that begin come to an open page by themselves", (context) =>
    withCollector([], async (collector) => {
      collector.args = ["--store", join(collector.folder, "store.db")];
      const base = await collector.start();
      const { page, complaints } = await openPage(context, base);
      await page.goto(`${base}/#/jobs`);
      await page.getByText("No job has been sent yet").waitFor();
      await page.locator(".dot.live").waitFor();
      const jobs = [];
      try {
        // The second beside one that goes on: the page has asked a moment ago whenever it comes.
        for (const name of ["first", "second"]) {
          const { job, row, launch_s, event_s } = await untilShown(page, collector, name);
          jobs.push(job);
          equal(row.state, "running", `the state of ${name}`);
          console.log(
            `      ${name} is shown ${launch_s.toFixed(2)} s after its launch, ${event_s.toFixed(2)} s after its first event`,
          );
        }
        await page.locator("#panel-jobs .note").getByText("2 jobs, 2 running").waitFor();
      } finally {
        for (const job of jobs) await job.end();
      }
      equal(complaints, [], "complaints");
      await page.close();
    }),
  );

  harness.check(
    "the timeline zooms by wheel, drag and keys, and its link brings it back",
    async (context) => {
      const { page, complaints } = await openPage(context, demo.base);
      const { jobs } = await demo.get("/jobs?limit=500&state=finished");
      const job = jobs.reduce((x, y) => (y.failures > x.failures ? y : x)).job;
      await page.goto(`${demo.base}/#/job/${job}`);
      await settled(page);
      const box = await page.locator(".timeline canvas").boundingBox();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 80);
      for (let n = 0; n < 70; ++n) await page.mouse.wheel(0, -140);
      const zoomed = () =>
        page.waitForFunction(() => /[?&]t=\d+-\d+/.test(location.hash), null, { polling: 100 });
      await zoomed();
      await settled(page);
      const [from, to] = /t=(\d+)-(\d+)/.exec(page.url()).slice(1).map(Number);
      ok(to - from < 1e9, `the window is ${(to - from) / 1e6} ms wide`);
      const note = (one) => one.locator(".timeline .note").innerText();
      const other = await openPage(context, demo.base);
      await other.page.goto(page.url());
      await settled(other.page);
      equal(await note(other.page), await note(page), "what the link shows");
      await other.page.close();
      await page.bringToFront();
      await page.getByRole("application").focus();
      await page.keyboard.press("0");
      await page.waitForFunction(() => !/[?&]t=/.test(location.hash), null, { polling: 100 });
      await page.keyboard.press("]");
      await zoomed();
      await settled(page);
      equal(complaints, [], "complaints");
      await page.close();
    },
  );

  harness.check("a token is asked for once and kept for the tab", (context) =>
    withCollector([], async (collector) => {
      const store = join(collector.folder, "store.db");
      collector.args = ["--store", store];
      const token = newToken("read", store);
      const sending = newToken("ingest", store);
      const base = await collector.start();
      const { page, complaints } = await openPage(context, base);
      await page.goto(`${base}/#/fleet`);
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      equal(await serious(page), [], "axe");
      await page.keyboard.type("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("is not accepted: no such token").waitFor();
      await page.getByRole("textbox", { name: "Token" }).fill(sending);
      await page.keyboard.press("Enter");
      const sentence = "this token is for ingest, and this needs one for read";
      await dialog.getByText(sentence).waitFor();
      equal(await serious(page), [], "axe of a token that may not read");
      await page.reload();
      await dialog.getByText(sentence).waitFor();
      await page.getByRole("textbox", { name: "Token" }).fill(token);
      await page.keyboard.press("Enter");
      await page.getByText("Nothing has been sent to this collector yet").waitFor();
      equal(await dialog.count(), 0, "dialogs");
      await page.locator(".dot.live").waitFor();
      await page.reload();
      await page.getByText("Nothing has been sent to this collector yet").waitFor();
      equal(await serious(page), [], "axe of an empty collector");
      await page.goto(`${base}/#/jobs`);
      await page.getByText("No job has been sent yet").waitFor();
      await page.goto(`${base}/#/regressions`);
      await page.locator("#panel-regressions").getByText("needs eight days with data").waitFor();
      ok(!page.url().includes(token), "the token is in the address");
      const kept = await page.evaluate(() => JSON.stringify(localStorage));
      ok(!kept.includes(token), "the token is kept beyond the tab");
      equal(own(complaints), [], "complaints");
      await page.close();
    }),
  );

  harness.check(
    "a collector that is killed is told, its numbers stay, and it is found again",
    (context) =>
      withCollector([], async (collector) => {
        const store = join(collector.folder, "store.db");
        headway("serve", "--store", demo.demoStore, "--back-up", store);
        collector.args = ["--store", store, "--watch-every", "off"];
        const base = await collector.start();
        const { page, complaints } = await openPage(context, base);
        await page.goto(`${base}/#/fleet`);
        await settled(page);
        await page.locator(".dot.live").waitFor();
        const told = await page.locator("#panel-verdict .headline").innerText();
        ok(/open regression/.test(told), `what is open is not in the copy: ${told}`);
        await collector.stop("SIGKILL");
        await page.locator(".dot.offline").waitFor();
        await page.getByRole("button", { name: "7 d" }).click();
        await page
          .locator("#panel-losses")
          .getByText("The collector does not answer")
          .first()
          .waitFor();
        await collector.start(Number(new URL(base).port));
        await page.locator(".dot.live").waitFor();
        await page.locator("#panel-losses .bars li").first().waitFor();
        await settled(page);
        equal(await page.locator(".stale").count(), 0, "panels with older numbers");
        equal(own(complaints), [], "complaints");
        await page.close();
      }),
  );

  // The last one: nothing is open afterwards.
  harness.check(
    "a regression is acknowledged by keyboard, for everybody and for good",
    async (context) => {
      const { page, complaints } = await openPage(context, demo.base);
      const watching = await openPage(context, demo.base);
      await watching.page.goto(`${demo.base}/#/regressions`);
      await settled(watching.page);
      const open = await watching.page.locator(".panel.regression").count();
      ok(open > 0, "nothing is open");
      await page.goto(`${demo.base}/#/fleet`);
      await settled(page);
      await page
        .getByRole("button", { name: /^Acknowledge / })
        .first()
        .focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      equal(await serious(page), [], "axe");
      await page.keyboard.press("Escape");
      equal(await page.getByRole("dialog").count(), 0, "dialogs after Escape");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.type("noor");
      await page.keyboard.press("Tab");
      await page.keyboard.type("torch goes back to 2.13.0");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        (n) =>
          document.querySelectorAll("#panel-verdict tbody tr").length === n - 1 &&
          !document.querySelector("dialog"),
        Math.min(open, 3),
        { polling: 100 },
      );
      // Who looks at the open ones elsewhere sees it leave, told by the collector's stream.
      await watching.page.bringToFront();
      await watching.page.waitForFunction(
        (n) => document.querySelectorAll(".panel.regression").length === n,
        open - 1,
        { polling: 100 },
      );
      await watching.page.getByRole("button", { name: "all", exact: true }).click();
      await watching.page.getByText("Seen by noor").waitFor();
      await watching.page.getByText("torch goes back to 2.13.0").waitFor();
      const { regressions } = await demo.get("/regressions?state=all");
      equal(
        regressions.filter((one) => one.acknowledged?.by === "noor").map((one) => one.state),
        ["acknowledged"],
        "what the collector keeps",
      );
      equal([...complaints, ...watching.complaints], [], "complaints");
      await page.close();
      await watching.page.close();
    },
  );
}
