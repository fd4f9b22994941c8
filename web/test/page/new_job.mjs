// A real `headway run` that tells a collector, and how long it takes until a page that is open shows it.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HEADWAY } from "./collector.mjs";

const SCRIPT = `
import time
import headway as hw
hw.init()
def batches():
    while True:
        yield 0
for _ in hw.steps(batches(), {"step": 0}):
    time.sleep(0.01)
`;
const END_MAX_MS = 60_000;

/** Trains until it is ended; its journals are in the collector's folder. */
export class NewJob {
  constructor(collector, name) {
    const script = join(collector.folder, "train.py");
    const jobs = join(collector.folder, "jobs");
    mkdirSync(jobs, { recursive: true });
    writeFileSync(script, SCRIPT);
    this.name = name;
    this.said = "";
    this.launched_ms = Date.now();
    this.child = spawn(
      HEADWAY,
      ["run", "--job", name, "--dir", jobs, "--collector", collector.base, script],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on("data", (piece) => (this.said += piece));
    this.ended = new Promise((resolve) => this.child.on("exit", resolve));
  }

  async end() {
    this.child.kill("SIGTERM");
    const late = new Promise((resolve) => setTimeout(resolve, END_MAX_MS, "late").unref());
    if ((await Promise.race([this.ended, late])) !== "late") return;
    this.child.kill("SIGKILL");
    throw new Error(`headway run ${this.name} does not end:\n${this.said}`);
  }
}

/** Of a job that does not appear: where it was seen last. */
async function whatIsKnown(page, collector, job) {
  const log = join(collector.folder, "jobs", job.name, "ship.log");
  const asked = async (path) => JSON.stringify(await collector.get(path)).slice(0, 400);
  return [
    `it said: ${job.said}`,
    `its sender said: ${existsSync(log) ? readFileSync(log, "utf8") : "nothing"}`,
    `the collector said: ${collector.said}`,
    `it has: ${await asked(`/jobs?text=${job.name}`)} of ${await asked("/status")}`,
    `the page shows: ${await page.locator("main").innerText()}`,
  ].join("\n");
}

/** Starts a job while the page shows jobs: seconds until its row is there, since the command was
 * launched and since the job's first event. The job goes on. */
export async function untilShown(page, collector, name) {
  const job = new NewJob(collector, name);
  try {
    const seen = await page.waitForFunction(
      (text) =>
        [...document.querySelectorAll("#panel-jobs tbody a")].some(
          (link) => link.textContent === text,
        ) && Date.now(),
      name,
      { polling: 20 },
    );
    const seen_ms = await seen.jsonValue();
    const { jobs } = await collector.get(`/jobs?text=${name}`);
    const row = jobs.find((one) => one.job === name);
    return {
      job,
      row,
      launch_s: (seen_ms - job.launched_ms) / 1e3,
      event_s: seen_ms / 1e3 - row.first_ns / 1e9,
    };
  } catch (error) {
    const why = await whatIsKnown(page, collector, job);
    await job.end();
    throw new Error(`${error.message}\n${why}`);
  }
}
