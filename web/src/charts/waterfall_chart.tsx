// A waterfall in rows: from one value over its steps to the other.

import type { Waterfall } from "../api/types";
import { type Bar, waterfallBars } from "../model/waterfall";
import { deltaInUnit, inUnit, isNothing } from "../model/format";

interface Props {
  data: Waterfall;
  before: string;
  after: string;
}

export function WaterfallChart({ data, before, after }: Props) {
  const bars = waterfallBars(data);
  const ends: Record<string, string> = { a: before, b: after };
  return (
    <ol class="waterfall">
      {bars.map((bar) => (
        <li key={bar.name} class={bar.kind === "end" ? "whole" : ""}>
          <span class={bar.kind === "end" ? "" : "nowrap"}>{ends[bar.name] ?? bar.label}</span>
          <Plot bar={bar} />
          <span class={`num ${tone(bar, data.unit)}`}>
            {bar.kind === "end" ? inUnit(bar.value, data.unit) : deltaInUnit(bar.value, data.unit)}
          </span>
        </li>
      ))}
    </ol>
  );
}

function tone(bar: Bar, unit: string): string {
  if (!bar.sure || (bar.kind !== "end" && isNothing(bar.value, unit))) return "muted";
  return bar.kind === "better" ? "good" : bar.kind === "worse" ? "bad" : "";
}

function Plot({ bar }: { bar: Bar }) {
  const width = Math.max(0, bar.to - bar.from);
  return (
    <span class="plot" aria-hidden="true">
      <i
        class={`${bar.kind} ${bar.sure ? "" : "unsure"}`}
        style={{ left: pct(bar.from), width: pct(width) }}
      />
      {bar.low !== null && bar.high !== null && (
        <i class="doubt" style={{ left: pct(bar.low), width: pct(bar.high - bar.low) }} />
      )}
    </span>
  );
}

function pct(share: number): string {
  return `${(100 * share).toFixed(2)}%`;
}
