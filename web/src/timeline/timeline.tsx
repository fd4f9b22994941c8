// The timeline of a job: attempts and ranks on a canvas, from weeks to milliseconds.

import { useEffect, useRef, useState } from "preact/hooks";
import { onEvent } from "../api/live";
import { BUCKETS, groupColor } from "../model/buckets";
import { attemptText, count, durationNs, instant } from "../model/format";
import { address, change, useAddress } from "../state/address";
import { first } from "../state/query";
import { useThemeVersion } from "../state/theme";
import { mention } from "../ui/announce";
import { Select } from "../ui/controls";
import { HELP, keyed } from "./keys";
import { attemptWindow, segmentAt } from "./lanes";
import { AXIS_PX, ATTEMPTS_PX, HEAD_PX, type Layout, layoutOf, Painter, rowAt } from "./paint";
import { attachPointer } from "./pointer";
import { TimelineSource } from "./source";
import { panned, parseWindow, span, type Window, windowText, zoomed } from "./window";

const SETTLED_MS = 250;
const SPOKEN_MS = 700;

/** What a frame took, for whoever measures: window.headwayFrames. */
interface Frame {
  took_ms: number;
  segments: number;
}
declare global {
  interface Window {
    headwayFrames?: Frame[];
  }
}

export class TimelineController {
  source: TimelineSource;
  window: Window = { from: 0, to: 1 };
  cursor: { at: number; row: number } | null = null;
  layout: Layout = layoutOf(800, 0);
  ranks: number[] = [];
  private painter: Painter | null = null;
  private frame = 0;
  private known = false;
  /** Where the job's end was when it was last told. */
  private end = 0;
  /** What the address says because of this, so that it is not followed back. */
  private written: string | undefined;
  private settled: ReturnType<typeof setTimeout> | undefined;
  private spoken: ReturnType<typeof setTimeout> | undefined;

  constructor(
    job: string,
    readonly chosen: string | undefined,
    private readonly redraw: () => void,
  ) {
    this.source = new TimelineSource(job, chosen, () => this.changed());
  }

  get whole(): Window {
    return this.source.overview?.whole ?? { from: 0, to: 1 };
  }

  attach(canvas: HTMLCanvasElement): void {
    this.painter = new Painter(canvas);
    this.resize(canvas.clientWidth);
  }

  resize(width: number): void {
    this.layout = layoutOf(Math.max(200, width), this.ranks.length);
    this.draw();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settled);
    clearTimeout(this.spoken);
    this.source.close();
  }

  private changed(): void {
    const { overview } = this.source;
    if (overview && this.painter) {
      const rows = this.painter.rowsFor(overview);
      this.ranks = rows.flatMap((row) => (row.rank === null ? [] : [row.rank]));
      this.layout = layoutOf(this.layout.width, this.ranks.length);
    }
    if (overview && !this.known) {
      this.known = true;
      this.written = first(address().query, "t");
      const attempt = Number(first(address().query, "attempt"));
      this.window = this.written
        ? parseWindow(this.written, overview.whole)
        : attemptWindow(overview, attempt);
      this.source.want(this.window);
    } else if (overview && this.window.from === 0 && this.window.to === this.end) {
      // Who looks at all of a job that runs goes on to look at all of it.
      this.window = overview.whole;
    }
    if (overview) this.end = overview.whole.to;
    this.redraw();
    this.draw();
  }

  /** The address has changed by itself: a link was followed, or history. */
  follow(text: string | undefined): void {
    if (!this.known || text === this.written) return;
    this.written = text;
    this.show(parseWindow(text, this.whole), false);
  }

  show(next: Window, write = true): void {
    this.window = next;
    this.source.want(next);
    this.draw();
    clearTimeout(this.settled);
    clearTimeout(this.spoken);
    this.settled = setTimeout(() => {
      if (write) {
        this.written = windowText(next, this.whole) ?? undefined;
        change({ t: this.written }, "replace");
      }
      this.redraw();
    }, SETTLED_MS);
    this.spoken = setTimeout(() => mention(this.words()), SPOKEN_MS);
  }

  words(): string {
    const begin = this.source.overview?.begin_ns ?? 0;
    const { from, to } = this.window;
    return `${instant(begin + from, true)} to ${instant(begin + to, true)}, ${durationNs(to - from)}`;
  }

  draw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const begun_ms = performance.now();
      const { window, layout, cursor, ranks } = this;
      const layers = this.source.layersFor(window);
      this.painter?.draw({ window, layout, cursor, ranks, layers });
      globalThis.window.headwayFrames?.push({
        took_ms: performance.now() - begun_ms,
        segments: this.painter?.looked ?? 0,
      });
    });
  }

  /** What lies at an instant in a row, as words. */
  at(at: number, row: number): { title: string; lines: string[]; color: string } | null {
    const layer = this.source.layersFor(this.window).at(-1);
    const begin = this.source.overview?.begin_ns ?? 0;
    if (!layer || !this.painter) return null;
    const rank = row === 0 ? null : this.ranks[row - 1];
    const found = this.painter.rowsFor(layer).find((one) => one.rank === rank);
    for (const lane of found?.lanes ?? []) {
      const i = segmentAt(lane, at);
      if (i < 0) continue;
      const bucket = BUCKETS[lane.bucket[i] as number];
      const start = lane.start[i] as number;
      const length = (lane.end[i] as number) - start;
      if (!bucket) continue;
      const who = rank === null ? "the job's own path" : `rank ${rank}`;
      return {
        title: `${bucket.label}, ${lane.exact ? "" : "about "}${durationNs(length)}`,
        lines: [
          `from ${instant(begin + start, true)}`,
          `attempt ${attemptText(lane.attempt)}, ${who}${lane.host ? ` on ${lane.host}` : ""}`,
          ...(lane.exact ? [] : ["pieces are merged; zoom in for each"]),
        ],
        color: groupColor(bucket.name),
      };
    }
    return null;
  }

  /** The failure or checkpoint nearest to an instant, within some pixels of it. */
  markAt(at: number): { title: string; lines: string[]; color: string } | null {
    const layer = this.source.layersFor(this.window).at(-1);
    if (!layer) return null;
    const reach = (span(this.window) * 6) / Math.max(1, this.layout.width - this.layout.gutter);
    const near = (mark: { at: number }): boolean => Math.abs(mark.at - at) <= reach;
    const failure = layer.failures.find(near);
    if (failure) {
      const who = failure.rank === null ? "" : `, rank ${failure.rank}`;
      const when = `${instant(layer.begin_ns + failure.at, true)}, attempt ${attemptText(failure.attempt)}${who}`;
      return {
        title: `Failure (${failure.origin})`,
        lines: [when, failure.text],
        color: "var(--bad)",
      };
    }
    const save = layer.checkpoints.find(near);
    if (!save) return null;
    return {
      title: save.text,
      lines: [`${instant(layer.begin_ns + save.at, true)}, attempt ${attemptText(save.attempt)}`],
      color: "var(--group-launcher_init)",
    };
  }
}

interface Tip {
  x: number;
  y: number;
  title: string;
  lines: string[];
  color: string;
}

export function useTimeline(job: string, ranks: string | undefined): TimelineController {
  const [, redraw] = useState(0);
  const [controller] = useState(
    () => new TimelineController(job, ranks, () => redraw((n) => n + 1)),
  );
  useEffect(() => {
    controller.source.start();
    return () => controller.close();
  }, []);
  useEffect(
    () =>
      onEvent((event) => event.kind === "job" && event.job === job && controller.source.refresh()),
    [],
  );
  return controller;
}

export function TimelineStage({ timeline }: { timeline: TimelineController }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const { query } = useAddress();
  const theme = useThemeVersion();
  useEffect(() => timeline.draw(), [theme]);
  useEffect(() => timeline.follow(first(query, "t")), [first(query, "t")]);
  useEffect(() => {
    const [element, drawn] = [stage.current, canvas.current];
    if (!element || !drawn) return;
    timeline.attach(drawn);
    const box = (): DOMRect => drawn.getBoundingClientRect();
    const plotWidth = (): number => box().width - timeline.layout.gutter;
    const share = (x: number): number =>
      Math.min(1, Math.max(0, (x - box().left - timeline.layout.gutter) / plotWidth()));
    const detach = attachPointer({
      element,
      window: () => timeline.window,
      whole: () => timeline.whole,
      share,
      plotWidth,
      show: (window) => {
        setTip(null);
        timeline.show(window);
      },
      hover: (x, y) => setTip(tipAt(timeline, x - box().left, y - box().top, share(x))),
      leave: () => {
        timeline.cursor = null;
        timeline.draw();
        setTip(null);
      },
    });
    const watch = new ResizeObserver(() => timeline.resize(drawn.clientWidth));
    watch.observe(drawn);
    return () => {
      watch.disconnect();
      detach();
    };
  }, []);
  return (
    <div class="timeline">
      <TimelineBar timeline={timeline} />
      <div
        ref={stage}
        class="stage"
        role="application"
        tabIndex={0}
        aria-label="Timeline of attempts and ranks"
        aria-describedby="timeline-help"
        aria-busy={!timeline.source.overview}
        onKeyDown={(event) => onKey(event, timeline)}
      >
        <canvas ref={canvas} />
        {!timeline.source.overview && <p class="waiting">Loading the timeline…</p>}
      </div>
      {tip && <TipBox tip={tip} width={timeline.layout.width} />}
      <p id="timeline-help" class="hidden">
        {HELP}
      </p>
    </div>
  );
}

function tipAt(timeline: TimelineController, x: number, y: number, share: number): Tip | null {
  const { layout, window } = timeline;
  if (x < layout.gutter) return null;
  const at = window.from + span(window) * share;
  const row = rowAt(layout, y);
  timeline.cursor = { at, row: -1 };
  timeline.draw();
  const onMarks = y > AXIS_PX + ATTEMPTS_PX && y < HEAD_PX;
  const told = onMarks ? timeline.markAt(at) : row >= 0 ? timeline.at(at, row) : null;
  return told && { x, y, ...told };
}

function onKey(event: KeyboardEvent, timeline: TimelineController): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { window, whole, layout } = timeline;
  if (event.key === "ArrowUp" || event.key === "ArrowDown" || event.key === "Enter") {
    event.preventDefault();
    const old = timeline.cursor?.row ?? 0;
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    const row = Math.min(layout.rows - 1, Math.max(0, old + (timeline.cursor ? step : 0)));
    timeline.cursor = { at: (window.from + window.to) / 2, row };
    timeline.draw();
    const told = timeline.at(timeline.cursor.at, row);
    mention(told ? `${told.title}, ${told.lines.join(", ")}` : "nothing here");
    return;
  }
  const failures = timeline.source.overview?.failures.map((mark) => mark.at) ?? [];
  const next = keyed(event.key, { window, whole, failures });
  if (!next) return;
  event.preventDefault();
  timeline.show(next);
}

function TipBox({ tip, width }: { tip: Tip; width: number }) {
  const left = tip.x + 14 + 300 > width ? Math.max(0, tip.x - 314) : tip.x + 14;
  return (
    <div class="tip" aria-hidden="true" style={{ left: `${left}px`, top: `${tip.y + 44}px` }}>
      <strong>
        <i class="swatch" style={{ background: tip.color }} />
        {tip.title}
      </strong>
      {tip.lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}

const RANKS_AT_ONCE = 64;

/** Whose rows are shown, of a job with more ranks than fit. */
function RankSelect({ ranks, chosen }: { ranks: number; chosen: string | undefined }) {
  const blocks = Array.from({ length: Math.ceil(ranks / RANKS_AT_ONCE) }, (_, i) => {
    const last = Math.min(ranks, (i + 1) * RANKS_AT_ONCE) - 1;
    return { value: `${i * RANKS_AT_ONCE}-${last}`, label: `${i * RANKS_AT_ONCE} to ${last}` };
  });
  const options = [{ value: "", label: "the slowest" }, ...blocks];
  if (chosen && !options.some((one) => one.value === chosen))
    options.push({ value: chosen, label: chosen.replace(/,.*/, " and those beside it") });
  return (
    <Select
      label="Ranks"
      value={chosen ?? ""}
      options={options}
      choose={(value) => change({ ranks: value || null })}
    />
  );
}

/** What the address has to say for a rank to be the first row, with those beside it below. */
export function besideRank(rank: number, ranks: number): string | null {
  if (ranks <= RANKS_AT_ONCE) return null;
  const first = Math.floor(rank / RANKS_AT_ONCE) * RANKS_AT_ONCE;
  return `${rank},${first}-${Math.min(ranks, first + RANKS_AT_ONCE) - 1}`;
}

function TimelineBar({ timeline }: { timeline: TimelineController }) {
  const { window, whole, source } = timeline;
  const { overview } = source;
  const button = (label: string, text: string, next: () => Window) => (
    <button type="button" aria-label={label} title={label} onClick={() => timeline.show(next())}>
      {text}
    </button>
  );
  return (
    <div class="bar">
      <div class="segments" role="group" aria-label="Zoom and pan">
        {button("Zoom in", "+", () => zoomed(timeline.window, 0.4, 0.5, whole))}
        {button("Zoom out", "−", () => zoomed(timeline.window, 2.5, 0.5, whole))}
        {button("Earlier", "←", () => panned(timeline.window, -0.3, whole))}
        {button("Later", "→", () => panned(timeline.window, 0.3, whole))}
        {button("All of the job", "All", () => whole)}
      </div>
      {overview && overview.ranks > RANKS_AT_ONCE && (
        <RankSelect ranks={overview.ranks} chosen={timeline.chosen} />
      )}
      <span class="note">
        {overview && (
          <>
            {timeline.words()}
            {overview.ranks > overview.ranks_shown &&
              ` · ${count(overview.ranks_shown)} of ${count(overview.ranks)} ranks`}
            {source.loading && (overview.complete ? " · loading detail…" : " · reading ranks…")}
            {span(window) >= span(whole) && (
              <span class="wide-only"> · wheel zooms, drag pans</span>
            )}
          </>
        )}
      </span>
    </div>
  );
}
