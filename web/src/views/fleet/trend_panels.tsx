// How it goes by day: one metric large, five small beside it.

import type { Doubt, Group, Metric, Regressions, Trend } from "../../api/types";
import { useApi } from "../../api/use_api";
import { TrendChart } from "../../charts/trend";
import type { Line } from "../../charts/trend_options";
import { addDays, unixSeconds } from "../../model/days";
import {
  besideFailures,
  dayText,
  deltaInUnit,
  inUnit,
  isNothing,
  keyText,
} from "../../model/format";
import { type Mark, marksOf, marksOn } from "../../model/marks";
import { differ } from "../../model/verdict";
import { change, linkTo, useAddress } from "../../state/address";
import { fleetPath, type FleetState } from "../../state/fleet_state";
import { choice } from "../../state/query";
import { Panel } from "../../ui/panel";

interface MetricWords {
  name: Metric;
  label: string;
  unit: string;
  /** Said after the number. */
  of_what?: string;
  beside?: (group: Group) => string;
  /** Higher is better. */
  up: boolean;
  of: (group: Group) => Doubt | null;
}

const share = (part: number | null, whole: number): Doubt => ({
  value: part === null || whole === 0 ? null : (100 * part) / whole,
  low: null,
  high: null,
});

const METRICS: readonly MetricWords[] = [
  { name: "ett_pct", label: "ETT%", unit: "pct", up: true, of: (g) => g.ett_pct },
  {
    name: "time_to_start_s",
    label: "Time to start",
    unit: "s",
    up: false,
    of: (g) => g.time_to_start_s?.mean ?? null,
  },
  {
    name: "time_to_recover_s",
    label: "Time to recover",
    unit: "s",
    up: false,
    of: (g) => g.time_to_recover_s?.mean ?? null,
  },
  {
    name: "unsaved_pct",
    label: "Unsaved training",
    unit: "pct",
    up: false,
    of: (g) => share(g.unsaved_device_hours, g.device_hours),
  },
  {
    name: "checkpoint_blocked_pct",
    label: "Blocked by saves",
    unit: "pct",
    up: false,
    of: (g) => share(g.checkpoint_blocked_pct, 100),
  },
  {
    name: "failures_per_1000_device_hours",
    label: "Failure rate",
    unit: "",
    of_what: "per 1000 device-hours",
    beside: (g) => besideFailures(g.user_errors),
    up: false,
    of: (g) => g.failures_per_1000_device_hours,
  },
];

function useMetric(): MetricWords {
  const { query } = useAddress();
  const names = METRICS.map((one) => one.name);
  const name = choice(query, "metric", names, "ett_pct");
  return METRICS.find((one) => one.name === name) ?? (METRICS[0] as MetricWords);
}

const COLORS = 8;
const DASHES = [undefined, [6, 4], [2, 3]] as const;

function linesOf(trend: Trend, label: string): Line[] {
  return trend.series.map((series, i) => {
    const dash = DASHES[Math.floor(i / COLORS) % DASHES.length];
    return {
      label: Object.keys(series.key).length ? keyText(series.key) : label,
      color: `--series-${i % COLORS}`,
      ...(dash ? { dash: [...dash] } : {}),
      value: series.value,
      low: series.low,
      high: series.high,
    };
  });
}

const noDays = (trend: Trend): string | null =>
  trend.series.some((series) => series.value.some((value) => value !== null))
    ? null
    : "Nothing was measured in this period. Choose a longer one, or fewer filters.";

export function TrendPanel(props: { state: FleetState; regressions: Regressions | null }) {
  const { state } = props;
  const metric = useMetric();
  const answer = useApi<Trend>(fleetPath("trend", state, { metric: metric.name, by: state.by }));
  const marked = metric.name === "ett_pct" || metric.name === "time_to_start_s";
  const marks = marked
    ? marksOf(props.regressions?.regressions ?? [], state.days, state.where)
    : [];
  const days = answer.data?.days.length ?? 0;
  const choose = (from: string, last: string): void =>
    change({ from, to: addDays(last, 1), period: null });
  return (
    <Panel
      id="trend"
      class="w8"
      title={`${metric.label} by day`}
      note={`${state.by ? `by ${state.by}` : "with 95% range"}${days > 1 ? "; drag to zoom" : ""}`}
      controls={
        metric.name !== "ett_pct" && (
          <a class="button" href={linkTo({ metric: null })}>
            Back to ETT%
          </a>
        )
      }
      answer={answer}
      empty={noDays}
      rows={12}
      table={(trend) => <TrendTable trend={trend} label={metric.label} marks={marks} />}
    >
      {(trend) => {
        const lines = linesOf(trend, metric.label);
        return (
          <>
            {lines.length > 1 && <LineLegend lines={lines} />}
            <TrendChart
              label={`${metric.label} by day`}
              days_s={trend.days.map(unixSeconds)}
              lines={lines}
              unit={trend.unit}
              marks={marks}
              height="fill"
              bands={lines.length <= 4}
              choose={choose}
            />
          </>
        );
      }}
    </Panel>
  );
}

function LineLegend({ lines }: { lines: readonly Line[] }) {
  return (
    <ul class="legend">
      {lines.map((line) => (
        <li key={line.label}>
          <i
            class="line-swatch"
            aria-hidden="true"
            style={{
              borderTopColor: `var(${line.color})`,
              borderTopStyle: line.dash ? "dashed" : "solid",
            }}
          />
          {line.label}
        </li>
      ))}
    </ul>
  );
}

function TrendTable({
  trend,
  label,
  marks = [],
}: {
  trend: Trend;
  label: string;
  marks?: readonly Mark[];
}) {
  const grouped = trend.series.length > 1;
  return (
    <table>
      <caption class="hidden">{label} by day</caption>
      <thead>
        <tr>
          <th scope="col">Day (UTC)</th>
          {trend.series.map((series, i) => (
            <th key={i} scope="col" class="num">
              {grouped ? keyText(series.key) : label}
            </th>
          ))}
          {!grouped && (
            <>
              <th scope="col" class="num">
                95% range
              </th>
              <th scope="col" class="num">
                Device-hours
              </th>
            </>
          )}
          {marks.length > 0 && <th scope="col">Regressions that began</th>}
        </tr>
      </thead>
      <tbody>
        {trend.days.map((day, i) => (
          <tr key={day}>
            <th scope="row">{dayText(day)}</th>
            {trend.series.map((series, s) => (
              <td key={s} class="num">
                {inUnit(series.value[i], trend.unit)}
              </td>
            ))}
            {!grouped && trend.series[0] && (
              <>
                <td class="num">
                  {inUnit(trend.series[0].low[i], trend.unit)} to{" "}
                  {inUnit(trend.series[0].high[i], trend.unit)}
                </td>
                <td class="num">{inUnit(trend.series[0].device_hours[i], "")}</td>
              </>
            )}
            {marks.length > 0 && <td>{marksOn(marks, day)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface MultiplesProps {
  state: FleetState;
  now: Group | null;
  past: Group | null;
}

export function Multiples(props: MultiplesProps) {
  const shown = useMetric();
  return (
    <div class="multiples">
      {METRICS.filter((one) => one !== shown).map((metric) => (
        <Multiple key={metric.name} metric={metric} {...props} />
      ))}
    </div>
  );
}

function Multiple({ metric, state, now, past }: MultiplesProps & { metric: MetricWords }) {
  const answer = useApi<Trend>(fleetPath("trend", state, { metric: metric.name }));
  return (
    <Panel
      id={metric.name}
      title={metric.label}
      class="multiple"
      answer={answer}
      empty={noDays}
      rows={6}
      controls={
        <a
          class="button quiet"
          href={linkTo({ metric: metric.name === "ett_pct" ? null : metric.name })}
          aria-label={`Show large: ${metric.label}`}
          title="Show large"
        >
          <svg width="13" height="13" viewBox="0 0 16 16" aria-hidden="true" fill="none">
            <path
              d="M9.5 2.5h4v4M13 3 9 7M6.5 13.5h-4v-4M3 13l4-4"
              stroke="currentColor"
              stroke-width="1.5"
            />
          </svg>
        </a>
      }
      table={(trend) => <TrendTable trend={trend} label={metric.label} />}
    >
      {(trend) => (
        <>
          <div class="head">
            <span class="big">{inUnit(now && metric.of(now)?.value, metric.unit)}</span>
            {metric.of_what && <span class="change">{metric.of_what}</span>}
            {metric.beside && now && <span class="change">{metric.beside(now)}</span>}
            <Change metric={metric} now={now} past={past} />
          </div>
          <TrendChart
            label={metric.label}
            days_s={trend.days.map(unixSeconds)}
            lines={linesOf(trend, metric.label)}
            unit={metric.unit}
            height={98}
            small
            bands={trend.series.some((one) =>
              one.value.some((value) => value !== null && value > 0),
            )}
          />
        </>
      )}
    </Panel>
  );
}

/** Against the period before; coloured only where the two ranges do not touch. */
function Change({ metric, now, past }: Omit<MultiplesProps, "state"> & { metric: MetricWords }) {
  const [x, y] = [now && metric.of(now), past && metric.of(past)];
  if (x?.value == null || y?.value == null) return null;
  const delta = x.value - y.value;
  const sure = differ(x, y);
  if (!sure && Math.abs(delta) < 0.01 * Math.abs(x.value))
    return <span class="change">as before</span>;
  const tone =
    !sure || isNothing(delta, metric.unit) ? "" : delta > 0 === metric.up ? "good" : "bad";
  return (
    <span class={`change ${tone}`}>
      {deltaInUnit(delta, metric.unit)} <span class="muted">vs before</span>
    </span>
  );
}
