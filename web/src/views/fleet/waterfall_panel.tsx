// What made the difference between two periods or two cohorts, step by step.

import type { Dimensions, Waterfall, WaterfallStep } from "../../api/types";
import { useApi } from "../../api/use_api";
import { WaterfallChart } from "../../charts/waterfall_chart";
import { addDays, type Period } from "../../model/days";
import { count, daysText, deltaExact, inUnit } from "../../model/format";
import { stepLabel } from "../../model/waterfall";
import { change, useAddress } from "../../state/address";
import { type FleetState, waterfallPath, waterfallState } from "../../state/fleet_state";
import { Filters, Segments, Select } from "../../ui/controls";
import { Panel } from "../../ui/panel";

interface Props {
  state: FleetState;
  dimensions: Dimensions | null;
}

const periodText = (days: Period): string => daysText(days.from, addDays(days.to, -1));

export function WaterfallPanel({ state, dimensions }: Props) {
  const { query } = useAddress();
  const wf = waterfallState(query, state, dimensions?.first_day ?? null);
  const answer = useApi<Waterfall>(wf && waterfallPath(state, wf));
  const before = wf ? cohort(periodText(wf.a), wf.where_a) : "";
  const after = wf ? cohort(periodText(wf.b), wf.where_b) : "";
  return (
    <Panel
      id="waterfall"
      class="w7"
      title="What made the difference"
      answer={answer}
      rows={12}
      empty={(data) =>
        data.a.value === null || data.b.value === null
          ? `No ${data.metric === "ett_pct" ? "job ran" : "job started"} on one of the two sides. Choose other days or filters.`
          : null
      }
      table={(data) => <WaterfallTable data={data} before={before} after={after} />}
      controls={
        wf && (
          <>
            <Segments
              label="Metric"
              value={wf.metric}
              options={[
                { value: "ett_pct", label: "ETT%" },
                { value: "time_to_start_s", label: "Time to start" },
              ]}
              choose={(value) => change({ wf: value === "ett_pct" ? null : value })}
            />
            <Select
              quiet
              label="Split by"
              value={wf.split}
              options={[
                { value: "component", label: "by component" },
                { value: "lever", label: "by technology" },
              ]}
              choose={(value) => change({ split: value === "component" ? null : value })}
            />
          </>
        )
      }
    >
      {(data) => (
        <>
          <WaterfallChart data={data} before={before} after={after} />
          {wf && (
            <details open={wf.where_a.length + wf.where_b.length > 0}>
              <summary class="muted">Compare with other days, or two cohorts</summary>
              <div class="controls">
                <Days days={wf.a} />
                <Filters
                  name="where_a"
                  label="Only before"
                  where={wf.where_a}
                  dimensions={dimensions}
                />
                <Filters
                  name="where_b"
                  label="Only after"
                  where={wf.where_b}
                  dimensions={dimensions}
                />
                <button
                  type="button"
                  class="quiet"
                  onClick={() => change({ from_a: null, to_a: null, where_a: null, where_b: null })}
                >
                  Reset
                </button>
              </div>
            </details>
          )}
        </>
      )}
    </Panel>
  );
}

function cohort(days: string, where: readonly string[]): string {
  return where.length ? `${where.map((text) => text.split(":")[1]).join(", ")}, ${days}` : days;
}

function Days({ days }: { days: Period }) {
  const last = addDays(days.to, -1);
  const set = (from: string, until: string): void => {
    if (from && until && from <= until) change({ from_a: from, to_a: addDays(until, 1) });
  };
  return (
    <>
      <label>
        Before: from
        <input
          type="date"
          value={days.from}
          onChange={(event) => set(event.currentTarget.value, last)}
        />
      </label>
      <label>
        to
        <input
          type="date"
          value={last}
          onChange={(event) => set(days.from, event.currentTarget.value)}
        />
      </label>
    </>
  );
}

const bySize = (x: WaterfallStep, y: WaterfallStep): number =>
  Math.abs(y.delta) - Math.abs(x.delta);

function WaterfallTable(props: { data: Waterfall; before: string; after: string }) {
  const { data, before, after } = props;
  const whole = (name: string, side: Waterfall["a"]) => (
    <tr>
      <th scope="row">{name}</th>
      <td>{count(side.count)} counted</td>
      <td class="num">{inUnit(side.value, data.unit)}</td>
      <td class="num">
        {inUnit(side.low, data.unit)} to {inUnit(side.high, data.unit)}
      </td>
    </tr>
  );
  return (
    <table>
      <caption class="hidden">
        Steps from {before} to {after}
      </caption>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Kind</th>
          <th scope="col" class="num">
            Change
          </th>
          <th scope="col" class="num">
            95% range
          </th>
        </tr>
      </thead>
      <tbody>
        {whole(before, data.a)}
        {[...data.steps].sort(bySize).map((step) => (
          <tr key={step.name}>
            <th scope="row">{stepLabel(step)}</th>
            <td>{step.kind}</td>
            <td class="num">{deltaExact(step.delta, data.unit)}</td>
            <td class="num">
              {deltaExact(step.low, data.unit)} to {deltaExact(step.high, data.unit)}
            </td>
          </tr>
        ))}
        {whole(after, data.b)}
      </tbody>
    </table>
  );
}
