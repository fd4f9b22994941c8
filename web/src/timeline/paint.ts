// Draws a timeline on a canvas. Rows go through one small image, a pixel high each, that is stretched:
// the cost is one pass over the visible segments, whatever their number or colours.

import { BUCKETS } from "../model/buckets";
import { packed } from "../model/color";
import { attemptText } from "../model/format";
import { color } from "../state/theme";
import { type Layer, Rasteriser, type Row, rowsOf } from "./lanes";
import { span, ticks, tickText, type Window } from "./window";

export interface Layout {
  width: number;
  gutter: number;
  /** Of the whole canvas, in CSS pixels. */
  height: number;
  row_px: number;
  rows: number;
}

export const AXIS_PX = 20;
export const ATTEMPTS_PX = 16;
export const MARKS_PX = 14;
export const PATH_PX = 26;
export const HEAD_PX = AXIS_PX + ATTEMPTS_PX + MARKS_PX;
const NARROW_PX = 600;
const ROWS_PX = 330;
const ROW_MIN_PX = 4;
const ROW_MAX_PX = 16;

export function layoutOf(width: number, ranks: number): Layout {
  const row_px = Math.min(
    ROW_MAX_PX,
    Math.max(ROW_MIN_PX, Math.floor(ROWS_PX / Math.max(1, ranks))),
  );
  const gutter = width < NARROW_PX ? 42 : 60;
  return {
    width,
    gutter,
    row_px,
    rows: ranks + 1,
    height: HEAD_PX + PATH_PX + 4 + ranks * row_px + 2,
  };
}

export function rowTop(layout: Layout, row: number): number {
  return row === 0 ? HEAD_PX : HEAD_PX + PATH_PX + 4 + (row - 1) * layout.row_px;
}

/** The row at a height, or -1. */
export function rowAt(layout: Layout, y: number): number {
  if (y < HEAD_PX) return -1;
  if (y < HEAD_PX + PATH_PX) return 0;
  const row = 1 + Math.floor((y - HEAD_PX - PATH_PX - 4) / layout.row_px);
  return row >= 1 && row < layout.rows ? row : -1;
}

export interface Scene {
  layers: Layer[];
  window: Window;
  layout: Layout;
  /** Of the rows below the job's own, in order: those of the whole job, whatever is on show. */
  ranks: readonly number[];
  /** Where the keyboard's or the mouse's cursor stands, or null. */
  cursor: { at: number; row: number } | null;
}

export class Painter {
  private readonly image = document.createElement("canvas");
  private readonly raster = new Rasteriser();
  private readonly rows = new WeakMap<Layer, Row[]>();
  /** What `image` was made of. */
  private drawn: readonly unknown[] = [];
  /** Segments that were looked at for it. */
  looked = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  rowsFor(layer: Layer): Row[] {
    let rows = this.rows.get(layer);
    if (!rows) this.rows.set(layer, (rows = rowsOf(layer.lanes)));
    return rows;
  }

  draw(scene: Scene): void {
    const { layout } = scene;
    const ratio = devicePixelRatio || 1;
    const width = Math.round(layout.width * ratio);
    const height = Math.round(layout.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.height = `${layout.height}px`;
    }
    const ctx = this.canvas.getContext("2d", { alpha: false });
    if (!ctx) return;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = color("--surface");
    ctx.fillRect(0, 0, layout.width, layout.height);
    ctx.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const [first] = scene.layers;
    if (!first) return;
    this.grid(ctx, scene, first.begin_ns);
    this.lanes(ctx, scene, ratio);
    this.attempts(ctx, scene);
    this.marks(ctx, scene);
    this.labels(ctx, scene);
    this.cursor(ctx, scene);
  }

  private x(scene: Scene, at: number): number {
    const { gutter, width } = scene.layout;
    return gutter + ((at - scene.window.from) / span(scene.window)) * (width - gutter);
  }

  private grid(ctx: CanvasRenderingContext2D, scene: Scene, begin_ns: number): void {
    const { layout, window } = scene;
    const count = Math.max(2, Math.floor((layout.width - layout.gutter) / 92));
    const { at, step_s } = ticks(window, begin_ns, count);
    ctx.textBaseline = "middle";
    for (const offset of at) {
      const x = Math.round(this.x(scene, offset)) + 0.5;
      ctx.fillStyle = color("--grid");
      ctx.fillRect(x - 0.5, AXIS_PX - 4, 1, layout.height);
      const text = tickText(offset, begin_ns, step_s);
      const wide = ctx.measureText(text).width;
      if (x + wide + 4 > layout.width) continue;
      ctx.fillStyle = color("--muted");
      ctx.fillText(text, x + 3, AXIS_PX / 2);
    }
  }

  private lanes(ctx: CanvasRenderingContext2D, scene: Scene, ratio: number): void {
    const { layout } = scene;
    const width = Math.max(1, Math.round((layout.width - layout.gutter) * ratio));
    this.rasterise(scene, width);
    ctx.imageSmoothingEnabled = false;
    const wide = layout.width - layout.gutter;
    ctx.drawImage(this.image, 0, 0, width, 1, layout.gutter, rowTop(layout, 0), wide, PATH_PX);
    const ranks = layout.rows - 1;
    if (ranks < 1) return;
    const top = rowTop(layout, 1);
    ctx.drawImage(this.image, 0, 1, width, ranks, layout.gutter, top, wide, ranks * layout.row_px);
    if (layout.row_px < 5) return;
    ctx.fillStyle = color("--surface");
    for (let row = 1; row <= ranks; ++row)
      ctx.fillRect(layout.gutter, rowTop(layout, row) + layout.row_px - 1, wide, 1);
  }

  /** Into `image`, unless it holds just that: a cursor that moves draws no segment again. */
  private rasterise(scene: Scene, width: number): void {
    const { layout, window, layers } = scene;
    const colors = BUCKETS.map((bucket) => color(`--group-${bucket.group}`));
    const key = [width, layout.rows, window.from, window.to, ...layers, ...scene.ranks, ...colors];
    if (key.length === this.drawn.length && key.every((part, i) => part === this.drawn[i])) return;
    this.drawn = key;
    if (this.image.width !== width || this.image.height !== layout.rows) {
      this.image.width = width;
      this.image.height = layout.rows;
    }
    const image = this.image.getContext("2d");
    if (!image) return;
    const pixels = image.createImageData(width, layout.rows);
    const out = new Uint32Array(pixels.data.buffer);
    const palette = Uint32Array.from(colors, packed);
    const surface = packed(color("--surface"));
    const lines = new Map(scene.ranks.map((rank, i) => [rank, i + 1]));
    this.looked = 0;
    for (const layer of layers) {
      for (const row of this.rowsFor(layer)) {
        const line = row.rank === null ? 0 : lines.get(row.rank);
        if (line === undefined || line >= layout.rows) continue;
        for (const lane of row.lanes)
          this.looked += this.raster.draw(lane, window, width, palette, surface, out, line * width);
      }
    }
    image.putImageData(pixels, 0, 0);
  }

  private attempts(ctx: CanvasRenderingContext2D, scene: Scene): void {
    const { layout, window } = scene;
    const layer = scene.layers.at(-1);
    const path = layer && this.rowsFor(layer)[0];
    if (!path) return;
    let free = -Infinity;
    for (const lane of path.lanes) {
      const begin = lane.start[0] ?? 0;
      const end = lane.end.at(-1) ?? 0;
      if (end < window.from || begin > window.to) continue;
      const x0 = Math.max(layout.gutter, this.x(scene, begin));
      const x1 = Math.min(layout.width, this.x(scene, end));
      ctx.fillStyle = color("--line-strong");
      ctx.fillRect(Math.round(x0), AXIS_PX, 1, ATTEMPTS_PX);
      const text =
        x1 - x0 > 90 ? `attempt ${attemptText(lane.attempt)}` : `#${attemptText(lane.attempt)}`;
      const wide = ctx.measureText(text).width;
      if (x1 - x0 < wide + 8 || x0 < free) continue;
      ctx.fillStyle = color("--muted");
      ctx.fillText(text, x0 + 4, AXIS_PX + ATTEMPTS_PX / 2);
      free = x0 + wide + 8;
    }
  }

  private marks(ctx: CanvasRenderingContext2D, scene: Scene): void {
    const { layout, window } = scene;
    const layer = scene.layers.at(-1);
    if (!layer) return;
    const top = AXIS_PX + ATTEMPTS_PX;
    ctx.fillStyle = color("--group-launcher_init");
    let last = -Infinity;
    for (const mark of layer.checkpoints) {
      if (mark.at < window.from || mark.at > window.to) continue;
      const x = Math.round(this.x(scene, mark.at));
      if (x - last < 3) continue;
      last = x;
      ctx.fillRect(x, top + 5, 2, MARKS_PX - 6);
    }
    for (const mark of layer.failures) {
      if (mark.at < window.from || mark.at > window.to) continue;
      const x = this.x(scene, mark.at);
      ctx.fillStyle = color(mark.origin === "preemption" ? "--warn" : "--bad");
      ctx.beginPath();
      ctx.moveTo(x - 4.5, top + 2);
      ctx.lineTo(x + 4.5, top + 2);
      ctx.lineTo(x, top + MARKS_PX - 2);
      ctx.fill();
      ctx.fillRect(Math.round(x), top + MARKS_PX - 2, 1, PATH_PX + 2);
    }
    ctx.fillStyle = color("--surface");
    ctx.fillRect(0, 0, layout.gutter - 1, layout.height);
  }

  private labels(ctx: CanvasRenderingContext2D, scene: Scene): void {
    const { layout } = scene;
    ctx.fillStyle = color("--muted");
    ctx.textAlign = "right";
    const right = layout.gutter - 6;
    ctx.fillText("UTC", right, AXIS_PX / 2);
    ctx.fillText("marks", right, AXIS_PX + ATTEMPTS_PX + MARKS_PX / 2);
    ctx.fillStyle = color("--text");
    ctx.fillText("job", right, HEAD_PX + PATH_PX / 2);
    ctx.fillStyle = color("--muted");
    const every = [1, 2, 4, 8, 16, 32, 64].find((n) => n * layout.row_px >= 13) ?? 128;
    const word = layout.width < NARROW_PX ? "" : "rank ";
    for (let i = 0; i < scene.ranks.length; i += every)
      ctx.fillText(
        `${word}${scene.ranks[i]}`,
        right,
        rowTop(layout, i + 1) + Math.max(layout.row_px / 2, 5),
      );
    ctx.textAlign = "left";
  }

  private cursor(ctx: CanvasRenderingContext2D, scene: Scene): void {
    const { cursor, layout } = scene;
    if (!cursor) return;
    const x = Math.round(this.x(scene, cursor.at));
    if (x < layout.gutter) return;
    ctx.fillStyle = color("--text");
    ctx.globalAlpha = 0.5;
    ctx.fillRect(x, AXIS_PX, 1, layout.height);
    ctx.globalAlpha = 1;
    if (cursor.row < 0) return;
    const high = cursor.row === 0 ? PATH_PX : layout.row_px;
    ctx.strokeStyle = color("--text");
    ctx.strokeRect(
      layout.gutter + 0.5,
      rowTop(layout, cursor.row) - 0.5,
      layout.width - layout.gutter - 1,
      high,
    );
  }
}
