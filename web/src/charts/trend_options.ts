// Options for uPlot: lines by day with the band of their doubt, and marks at days.

import uPlot from "uplot";
import { daysRange, onlyValue } from "../model/axis";
import { faded } from "../model/color";
import { inUnit } from "../model/format";
import { placeLabels } from "../model/labels";
import type { Mark } from "../model/marks";
import { color } from "../state/theme";

export interface Line {
  label: string;
  /** A custom property. */
  color: string;
  dash?: number[];
  value: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

export interface TrendProps {
  /** Seconds since 1970, one a day. */
  days_s: number[];
  lines: Line[];
  unit: string;
  marks?: Mark[];
  /** In CSS pixels; "fill": as high as the place has room. */
  height: number | "fill";
  small?: boolean;
  bands: boolean;
}

/** uPlot wants one array a series: for each line its value, and behind it the edges of its band. */
export function trendData(props: TrendProps): uPlot.AlignedData {
  const columns: (number | null)[][] = [];
  for (const line of props.lines) {
    columns.push(line.value);
    if (props.bands) columns.push(line.high, line.low);
  }
  return [props.days_s, ...columns] as uPlot.AlignedData;
}

function seriesOf(props: TrendProps): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const alpha = Number(color("--band")) * (props.lines.length > 1 ? 0.55 : 1);
  for (const line of props.lines) {
    const stroke = color(line.color);
    const points = { show: onlyValue(line.value) !== null, size: 6 };
    series.push({
      label: line.label,
      stroke,
      width: props.small ? 1.5 : 2,
      points,
      spanGaps: true,
      ...(line.dash ? { dash: line.dash } : {}),
    });
    if (!props.bands) continue;
    const edge: uPlot.Series = { width: 0, points: { show: false }, spanGaps: true };
    bands.push({ series: [series.length, series.length + 1], fill: faded(stroke, alpha) });
    series.push({ ...edge, label: `${line.label} high` }, { ...edge, label: `${line.label} low` });
  }
  return { series, bands };
}

/** Tick labels have no thin spaces to lose and no more digits than they need. */
function tick(value: number, unit: string): string {
  if (value >= 1e4 && unit !== "s") return `${value / 1000}k`;
  return inUnit(value, unit).replace(/\.0%$/, "%");
}

/** A band needs two days: the range of a single one is a line through its point. */
function drawLoneRanges(plot: uPlot, { lines, days_s, bands }: TrendProps): void {
  const { ctx } = plot;
  if (!bands) return;
  ctx.save();
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const line of lines) {
    const at = onlyValue(line.value);
    const [low, high] = at === null ? [] : [line.low[at], line.high[at]];
    if (at === null || low == null || high == null) continue;
    const x = plot.valToPos(days_s[at] ?? 0, "x", true);
    ctx.strokeStyle = faded(color(line.color), 0.5);
    ctx.beginPath();
    ctx.moveTo(x, plot.valToPos(low, "y", true));
    ctx.lineTo(x, plot.valToPos(high, "y", true));
    ctx.stroke();
  }
  ctx.restore();
}

const MARK_ROW_PX = 14;
const MARK_ROWS_MAX = 3;

/** Dashed lines at days with their words above the plot. */
function drawMarks(plot: uPlot, all: readonly Mark[]): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const end = bbox.left + bbox.width;
  ctx.save();
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.font = `600 ${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  const marks = all.map((mark) => {
    const x = Math.round(plot.valToPos(mark.t_s, "x", true));
    const width = ctx.measureText(mark.label).width;
    const right = x + 4 * ratio;
    const left = right + width <= end ? right : Math.max(bbox.left, x - width - 4 * ratio);
    return { ...mark, x, left, width };
  });
  const shown = marks.filter(({ x }) => x >= bbox.left - 1 && x <= end + 1);
  const rows = placeLabels(shown, MARK_ROWS_MAX, 10 * ratio);
  const middle = (row: number): number => bbox.top - (row + 0.6) * MARK_ROW_PX * ratio;
  ctx.lineWidth = ratio;
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  shown.forEach((mark, i) => {
    ctx.strokeStyle = color(mark.color);
    ctx.beginPath();
    ctx.moveTo(mark.x, middle(rows[i] ?? 0) - 6 * ratio);
    ctx.lineTo(mark.x, bbox.top + bbox.height);
    ctx.stroke();
  });
  shown.forEach((mark, i) => {
    const row = rows[i];
    if (row == null) return;
    const y = middle(row);
    ctx.fillStyle = color("--surface");
    ctx.fillRect(mark.left - 2 * ratio, y - 6 * ratio, mark.width + 4 * ratio, 12 * ratio);
    ctx.fillStyle = color(mark.color);
    ctx.fillText(mark.label, mark.left, y);
  });
  ctx.restore();
}

export function trendOptions(
  props: TrendProps,
  size: { width: number; height: number },
  hooks: { cursor: (plot: uPlot) => void; select: (plot: uPlot) => void },
): uPlot.Options {
  const { series, bands } = seriesOf(props);
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: color("--muted"), font, ticks: { show: false } };
  const grid = { stroke: color("--grid"), width: 1 };
  const marks = props.marks ?? [];
  const top = marks.length ? MARK_ROWS_MAX * MARK_ROW_PX : 8;
  return {
    ...size,
    series,
    bands,
    tzDate: (t_s) => uPlot.tzDate(new Date(t_s * 1000), "Etc/UTC"),
    legend: { show: false },
    padding: [top, 18, 0, 0],
    cursor: {
      y: false,
      sync: { key: "days" },
      drag: { x: true, y: false, setScale: false },
      points: { size: props.small ? 5 : 7 },
    },
    scales: {
      x: { time: true, range: () => daysRange(props.days_s) },
      y: { range: padded(props) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: props.small ? 48 : 64,
        size: props.small ? 27 : 22,
        gap: props.small ? 8 : 3,
        values: (_, ticks) => ticks.map(dayTick),
        incrs: [1, 2, 3, 7, 14, 30, 90].map((days) => days * 86400),
      },
      {
        ...axis,
        grid,
        space: props.small ? 26 : 34,
        size: props.small ? 50 : 54,
        ...(props.unit === "s" ? { incrs: DURATION_STEPS_S } : {}),
        gap: 4,
        values: (_, ticks) => ticks.map((value) => tick(value, props.unit)),
      },
    ],
    hooks: {
      setCursor: [hooks.cursor],
      setSelect: [hooks.select],
      draw: [(plot) => drawLoneRanges(plot, props), (plot) => drawMarks(plot, marks)],
    },
  };
}

/** Steps that read well in s, min, h and d. */
const DURATION_STEPS_S = [
  0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400,
  21600, 43200, 86400, 172800, 432000, 864000,
];

function dayTick(t_s: number): string {
  const day = new Date(t_s * 1000);
  return `${day.getUTCDate()} ${day.toLocaleString("en", { month: "short", timeZone: "UTC" })}`;
}

/** Where the bands of a small chart are cut off: a day with little data must not press all others flat. */
function bandsEnd(lines: readonly Line[], unit: string): number {
  const known = (values: readonly (number | null)[]): number[] =>
    values.filter((x) => x !== null).sort((x, y) => x - y);
  const highest = Math.max(0, ...lines.map((line) => known(line.value).at(-1) ?? 0));
  const middle = Math.max(
    0,
    ...lines.map((line) => known(line.high)[Math.floor(line.high.length / 2)] ?? 0),
  );
  // Nothing but zeros: what they might be at most is in the table.
  if (highest === 0) return unit === "pct" ? 1 : middle || Infinity;
  return Math.max(highest * 1.25, Math.min(middle, highest * 3));
}

/** Room above and below; shares stay within 0 and 100, nothing goes below 0. */
function padded(props: TrendProps): uPlot.Range.Function {
  const { unit } = props;
  return (_, low, top_of_all) => {
    if (low == null || top_of_all == null) return [0, 1];
    const high = props.small ? Math.min(top_of_all, bandsEnd(props.lines, unit)) : top_of_all;
    const room = Math.max(
      (high - low) * 0.1,
      Math.abs(high) * 0.02,
      high === 0 && unit === "pct" ? 1 : 1e-6,
    );
    const top = unit === "pct" ? Math.min(100, high + room) : high + room;
    return [Math.max(0, low - room), Math.max(top, low + 1e-6)];
  };
}
