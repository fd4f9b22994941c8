// A real `headway serve`, started and stopped as people do, in a folder of its own.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const HEADWAY =
  process.env.HEADWAY_BIN ?? fileURLToPath(new URL("../../../build/headway", import.meta.url));
const START_MAX_MS = 300_000;
const STOP_MAX_MS = 60_000;

export const isBuilt = () => existsSync(HEADWAY);

/** What a verb that ends by itself has printed. */
export function headway(...args) {
  const done = spawnSync(HEADWAY, args, { encoding: "utf8", timeout: START_MAX_MS });
  if (done.status !== 0)
    throw new Error(`headway ${args.join(" ")}: ${done.status} ${done.stdout}${done.stderr}`);
  return done.stdout;
}

export class Collector {
  /** `args` of `headway serve`, without --listen. */
  constructor(args) {
    this.args = args;
    this.said = "";
    this.folder = mkdtempSync(join(tmpdir(), "headway-page-collector-"));
  }

  /** Its address, once it listens. `port` 0: any. */
  async start(port = 0) {
    const begun = Date.now();
    const child = spawn(HEADWAY, ["serve", "--listen", `127.0.0.1:${port}`, ...this.args], {
      env: { ...process.env, TMPDIR: this.folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    this.ended = new Promise((resolve) =>
      child.on("exit", (code, signal) => resolve(code ?? signal)),
    );
    const late = new Promise((resolve) => setTimeout(resolve, START_MAX_MS, "late").unref());
    const listens = new Promise((resolve) => {
      const hear = (piece) => {
        this.said += piece;
        const found = /listening on (http:\S+),/.exec(this.said);
        if (found) resolve(found[1]);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
    });
    const base = await Promise.race([listens, this.ended.then(() => null), late]);
    if (typeof base !== "string" || base === "late") {
      await this.stop("SIGKILL");
      throw new Error(`headway serve ${this.args.join(" ")} does not listen:\n${this.said}`);
    }
    this.took_ms = Date.now() - begun;
    this.said = "";
    this.base = base;
    return base;
  }

  get port() {
    return Number(new URL(this.base).port);
  }

  /** The database of a demo. */
  get demoStore() {
    const [folder] = readdirSync(this.folder).filter((name) => name.startsWith("headway-demo-"));
    return join(this.folder, folder, "store.db");
  }

  async get(path) {
    const response = await fetch(`${this.base}/api/v1${path}`);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** How it ended. */
  async stop(signal = "SIGTERM") {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    const late = new Promise((resolve) => setTimeout(resolve, STOP_MAX_MS, "late").unref());
    const how = await Promise.race([this.ended, late]);
    if (how === "late") this.child.kill("SIGKILL");
    return how;
  }

  async close() {
    const how = await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
    return how;
  }
}
