// Layers for whatever part of a job is on show: the whole once, finer ones as people go in. One
// question at a time; what is no longer wanted by the time it could be asked is not asked.

import { ApiError } from "../api/client";
import { heedRefusal, onToken, token, tokenWanted } from "../api/token";
import { apiPath } from "../state/fleet_state";
import type { Layer } from "./lanes";
import { span, type Window } from "./window";
import type { Found, Wanted } from "./worker";

const SLICES = 1500;
const LAYERS_MAX = 8;
const SETTLE_MS = 90;
/** An answer that says that there is more is asked for again after this, so often. */
const MORE_MS = 250;
const MORE_MAX = 400;
/** A job that goes on is asked for again at most this often. */
const REFRESH_MS = 4000;
/** Asked for beside the window, as a share of it, so that a little panning needs nothing new. */
const MARGIN = 0.25;

export class TimelineSource {
  overview: Layer | null = null;
  error: ApiError | null = null;
  loading = false;
  private readonly layers: Layer[] = [];
  private readonly worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  private wanted: Window | null = null;
  private asked: { id: number; window: Window | null } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private refreshing: ReturnType<typeof setTimeout> | undefined;
  private refreshed_ms = Date.now();
  private settling: ReturnType<typeof setTimeout> | undefined;
  private again = false;
  private serial = 0;
  private more = 0;
  private stopHearing: () => void = () => {};

  constructor(
    private readonly job: string,
    /** Which ranks, as the address has it; none: those that matter most. */
    private readonly ranks: string | undefined,
    private readonly changed: () => void,
  ) {
    this.worker.addEventListener("message", (event: MessageEvent<Found>) => this.take(event.data));
  }

  start(): void {
    this.stopHearing = onToken(() => {
      if (!tokenWanted() && this.error) this.retry();
    });
    this.ask(null);
  }

  close(): void {
    this.stopHearing();
    clearTimeout(this.timer);
    clearTimeout(this.settling);
    clearTimeout(this.refreshing);
    this.worker.terminate();
  }

  retry(): void {
    this.error = null;
    if (!this.overview) this.ask(null);
    else if (this.wanted) this.want(this.wanted);
  }

  /** The job has gone on. */
  refresh(): void {
    if (this.refreshing !== undefined) return;
    const wait_ms = Math.max(0, this.refreshed_ms + REFRESH_MS - Date.now());
    this.refreshing = setTimeout(() => {
      this.refreshing = undefined;
      this.refreshed_ms = Date.now();
      if (this.asked) this.again = true;
      else this.ask(null);
    }, wait_ms);
  }

  /** What to draw for a window, coarse before fine. */
  layersFor(window: Window): Layer[] {
    if (!this.overview) return [];
    const fine = this.layers
      .filter((layer) => layer.window.from < window.to && layer.window.to > window.from)
      .sort((x, y) => span(y.window) - span(x.window));
    const covers = fine.filter((layer) => contains(layer.window, window));
    const best = covers.at(-1);
    return best ? [best] : [this.overview, ...fine.slice(-2)];
  }

  want(window: Window): void {
    this.wanted = window;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLE_MS);
  }

  private settle(): void {
    const { wanted, overview } = this;
    if (!wanted || !overview || this.asked || this.fineEnough(wanted)) return;
    const room = span(wanted) * MARGIN;
    const { whole } = overview;
    this.ask({
      from: Math.max(whole.from, Math.floor(wanted.from - room)),
      to: Math.min(whole.to, Math.ceil(wanted.to + room)),
    });
  }

  private fineEnough(window: Window): boolean {
    const all = this.overview ? [this.overview, ...this.layers] : this.layers;
    return all.some(
      (layer) =>
        contains(layer.window, window) &&
        (span(layer.window) <= span(window) * (1 + 4 * MARGIN) ||
          layer.lanes.every((lane) => lane.exact)),
    );
  }

  private ask(window: Window | null): void {
    const id = ++this.serial;
    this.asked = { id, window };
    this.loading = true;
    const begin = BigInt(this.overview?.begin_ns ?? 0);
    const instant = (offset: number): string => String(begin + BigInt(Math.round(offset)));
    const path = apiPath(`/jobs/${encodeURIComponent(this.job)}/timeline`, {
      from_ns: window ? instant(window.from) : undefined,
      to_ns: window ? instant(window.to) : undefined,
      slices: String(SLICES),
      ranks: this.ranks ?? (window ? this.ownRanks() : undefined),
    });
    this.worker.postMessage({ id, path, token: token() } satisfies Wanted);
    this.changed();
  }

  /** Those of the whole job, where they were chosen among more: finer layers are of the same. */
  private ownRanks(): string | undefined {
    const { overview } = this;
    if (!overview || overview.ranks <= overview.ranks_shown) return undefined;
    const own = overview.lanes.flatMap((lane) => (lane.rank === null ? [] : [lane.rank]));
    return [...new Set(own)].join(",") || undefined;
  }

  private take(found: Found): void {
    if (found.id !== this.asked?.id) return;
    const { window } = this.asked;
    this.asked = null;
    this.loading = false;
    if ("layer" in found) {
      this.error = null;
      if (!window) {
        this.overview = found.layer;
        this.layers.length = 0;
      } else {
        const at = this.layers.findIndex((layer) => same(layer.window, found.layer.window));
        if (at >= 0) this.layers.splice(at, 1);
        this.layers.push(found.layer);
        if (this.layers.length > LAYERS_MAX) this.layers.shift();
      }
      if (!found.layer.complete && ++this.more <= MORE_MAX) {
        this.loading = true;
        this.asked = { id: 0, window };
        this.timer = setTimeout(() => this.ask(window), MORE_MS);
        this.changed();
        return;
      }
      this.more = 0;
    } else {
      heedRefusal(found.status, found.message);
      this.error = new ApiError(found.status, found.message);
    }
    this.changed();
    if (this.again) {
      this.again = false;
      this.ask(null);
    } else if (!this.error) {
      this.settle();
    }
  }
}

const same = (x: Window, y: Window): boolean => x.from === y.from && x.to === y.to;

function contains(outer: Window, inner: Window): boolean {
  // A nanosecond-scale rounding of instants must not make a window look uncovered.
  return outer.from <= inner.from + 512 && outer.to >= inner.to - 512;
}
