// A trend by day, drawn by uPlot. What it shows is also told in words, for who cannot see it.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "preact/hooks";
import { dayOfNs } from "../model/days";
import { dayText, inUnit } from "../model/format";
import { trendWords } from "../model/trend_words";
import { color, useThemeVersion } from "../state/theme";
import { trendData, trendOptions, type TrendProps } from "./trend_options";

interface Props extends TrendProps {
  label: string;
  /** Days that were dragged over, the last one included. */
  choose?: (from: string, last: string) => void;
}

const dayOf = (t_s: number): string => dayOfNs(t_s * 1e9);

export function TrendChart(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const theme = useThemeVersion();
  const latest = useRef(props);
  latest.current = props;
  const shape = JSON.stringify([props.lines, props.marks, props.days_s, props.unit, props.height]);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const plot = new uPlot(
      trendOptions(latest.current, sizeOf(element, latest.current.height), {
        cursor: (own) => showTip(own, latest.current, tip.current),
        select: (own) => {
          const { left, width } = own.select;
          if (width < 4 || latest.current.days_s.length < 2) return;
          const from = dayOf(own.posToVal(left, "x"));
          const last = dayOf(own.posToVal(left + width, "x"));
          own.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.choose?.(from, last);
        },
      }),
      trendData(latest.current),
      element,
    );
    const watch = new ResizeObserver(() => {
      const size = sizeOf(element, latest.current.height);
      if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size);
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [shape, theme]);

  return (
    <div
      class={`chart ${props.height === "fill" ? "fill" : ""}`}
      role="img"
      aria-label={trendWords(props)}
    >
      <div ref={place} class="place" />
      <div ref={tip} class="tip" hidden aria-hidden="true" />
    </div>
  );
}

function sizeOf(place: HTMLElement, height: number | "fill"): { width: number; height: number } {
  return {
    width: Math.max(120, place.clientWidth),
    height: height === "fill" ? Math.max(160, place.clientHeight) : height,
  };
}

/** Only the chart under the mouse shows its tip; charts that follow it show their points. */
function showTip(plot: uPlot, props: Props, tip: HTMLDivElement | null): void {
  if (!tip) return;
  const { idx, left = -1 } = plot.cursor;
  const hovered = plot.root.matches(":hover");
  if (idx == null || left < 0 || !hovered) {
    tip.hidden = true;
    return;
  }
  const head = document.createElement("strong");
  head.textContent = dayText(dayOf(props.days_s[idx] ?? 0));
  const rows = props.lines.map((line) => {
    const row = document.createElement("div");
    const mark = document.createElement("i");
    mark.className = "line-swatch";
    mark.style.borderTopColor = color(line.color);
    const value = inUnit(line.value[idx], props.unit);
    const [low, high] = [line.low[idx], line.high[idx]];
    const doubt =
      low != null && high != null
        ? ` (${inUnit(low, props.unit)} to ${inUnit(high, props.unit)})`
        : "";
    row.append(mark, `${props.lines.length > 1 ? `${line.label} ` : ""}${value}${doubt}`);
    return row;
  });
  tip.replaceChildren(head, ...rows);
  tip.hidden = false;
  const x = plot.bbox.left / devicePixelRatio + left;
  const right = x + tip.offsetWidth + 14 > plot.width;
  tip.style.left = `${Math.max(0, right ? x - tip.offsetWidth - 10 : x + 12)}px`;
  tip.style.top = `${plot.bbox.top / devicePixelRatio + 4}px`;
}
