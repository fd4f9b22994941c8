// The answer for who was woken up: is something wrong, since when, whose doing, what to do.

import { useState } from "preact/hooks";
import type { Losses, Regression, Regressions, Rollup, Waterfall } from "../../api/types";
import { type Answer, useApi } from "../../api/use_api";
import { beganDay } from "../../model/began";
import { componentWords } from "../../model/buckets";
import { nowNs } from "../../model/clock";
import { addDays, before, dayOfNs, daysBetween } from "../../model/days";
import { mixShift, preemptionWave, shiftText } from "../../model/explain";
import { ago, bothInUnit, count, dayText, deviceHours, keyText, number3 } from "../../model/format";
import { concerns, culprit, remedy, shownRegressions, verdict } from "../../model/verdict";
import { unwatched } from "../../model/watched";
import { linkTo } from "../../state/address";
import { fleetPath, type FleetState, waterfallPath } from "../../state/fleet_state";
import { Panel } from "../../ui/panel";
import { Words } from "../../ui/words";
import { AcknowledgeButton, AcknowledgeDialog } from "../acknowledge";

interface Props {
  state: FleetState;
  /** That any job has data of. */
  first_day: string | null;
  regressions: Answer<Regressions>;
  now: Answer<Rollup>;
  past: Answer<Rollup>;
  losses: Answer<Losses>;
}

export function VerdictPanel({ state, first_day, regressions, now, past, losses }: Props) {
  const [asked, ask] = useState<Regression | null>(null);
  const days = state.days ? daysBetween(state.days.from, state.days.to) : 0;
  const own = regressions.data?.regressions.filter((one) => concerns(one.stratum, state.where));
  // What is open is told even where the numbers of the period cannot be had.
  const waits = now.data === null && now.error === null;
  const blind = regressions.data && unwatched(regressions.data, first_day, dayOfNs(nowNs()));
  const judged =
    own && !waits
      ? verdict(own, now.data?.total ?? null, past.data?.total ?? null, losses.data, days, blind)
      : null;
  const open = regressions.data?.regressions.filter((one) => one.state === "open").length ?? 0;
  const elsewhere = open - (judged?.open.length ?? open);
  const checked = regressions.data?.checked_ns ?? null;
  return (
    <>
      <Panel
        id="verdict"
        title="Is something wrong?"
        class={`w12 verdict ${judged?.level ?? "unknown"}-level`}
        note={checked !== null && `checked ${ago(checked, nowNs())}`}
        answer={waits ? { ...regressions, data: null } : regressions}
        rows={4}
      >
        {() =>
          judged && (
            <>
              <p class="headline">
                <strong class={judged.level === "bad" ? "bad" : ""}>{judged.headline}</strong>
                <span>{judged.detail}</span>
              </p>
              {judged.open.length > 0 && (
                <OpenTable open={judged.open} losses={losses.data} ask={ask} />
              )}
              <Also state={state} />
              {elsewhere > 0 && (
                <p>
                  <a href="#/regressions">{elsewhere} more open</a>, outside of these filters.
                </p>
              )}
            </>
          )
        }
      </Panel>
      {asked && <AcknowledgeDialog regression={asked} close={() => ask(null)} />}
    </>
  );
}

/** What moved ETT% in the period and needs no fix in a job. */
function Also({ state }: { state: FleetState }) {
  const earlier = state.days ? before(state.days) : null;
  const levers = useApi<Waterfall>(
    state.days &&
      waterfallPath(state, {
        metric: "ett_pct",
        split: "lever",
        a: before(state.days),
        b: state.days,
        where_a: [],
        where_b: [],
      }),
  );
  const days = useApi<Rollup>(fleetPath("rollup", state, { by: "day" }));
  const families = useApi<Rollup>(fleetPath("rollup", state, { by: "family" }));
  const past = useApi<Rollup>(fleetPath("rollup", state, { by: "family" }, earlier));
  const wave = days.data && preemptionWave(days.data.groups);
  const shift =
    levers.data &&
    families.data &&
    past.data &&
    mixShift(levers.data, families.data.groups, past.data.groups);
  if (!wave && !shift) return null;
  return (
    <ul class="also">
      {shift && (
        <li>
          <a href={linkTo({ split: "lever", panel: "waterfall" })}>Mix shift.</a> {shiftText(shift)}
        </li>
      )}
      {wave && (
        <li>
          <a href={linkTo({ from: wave.from, to: addDays(wave.last, 1), period: null })}>
            Preemptions came in a wave,
          </a>{" "}
          {wave.from === wave.last
            ? `on ${dayText(wave.from)}`
            : `${dayText(wave.from)} to ${dayText(wave.last)}`}
          : {count(wave.preemptions)}, where {count(wave.usual)} a day is usual.
        </li>
      )}
    </ul>
  );
}

interface TableProps {
  open: readonly Regression[];
  losses: Losses | null;
  ask: (one: Regression) => void;
}

function OpenTable({ open, losses, ask }: TableProps) {
  const shown = shownRegressions(open);
  return (
    <>
      <table class="cards" role="table">
        <caption class="hidden">Open regressions, the dearest first</caption>
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">
              What changed
            </th>
            <th scope="col" role="columnheader">
              Since
            </th>
            <th scope="col" role="columnheader" class="num">
              Device-hours a day
            </th>
            <th scope="col" role="columnheader">
              Comes with
            </th>
            <th scope="col" role="columnheader">
              What to do
            </th>
            <th scope="col" role="columnheader">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map((one) => (
            <OpenRow key={one.id} one={one} losses={losses} ask={ask} />
          ))}
        </tbody>
      </table>
      {open.length > shown.length && (
        <a href="#/regressions">{open.length - shown.length} more open regressions</a>
      )}
    </>
  );
}

function OpenRow({ one, losses, ask }: { one: Regression } & Omit<TableProps, "open">) {
  const whose = culprit(one);
  const [was, is] = bothInUnit(one.before, one.after, one.unit);
  const worse = one.change_pct === null ? "" : ` (+${number3(Math.abs(one.change_pct))}%)`;
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        <a href={`#/regressions?id=${encodeURIComponent(one.id)}`}>
          {componentWords(one.component, one.label)} · {keyText(one.stratum)}
        </a>
        <span class="sub">
          {was} → <b class="bad">{is}</b>
          {worse}
        </span>
      </th>
      <td role="cell" data-label="Since" class="nowrap">
        {dayText(beganDay(one))}
      </td>
      <td role="cell" data-label="Device-hours a day" class="num">
        {deviceHours(one.device_hours_per_day)}
      </td>
      <td role="cell" data-label="Comes with">
        {whose.text}
        <span class="sub">{whose.sub}</span>
      </td>
      <td role="cell" class="do">
        <Words text={remedy(one, losses?.losses ?? [])} />
      </td>
      <td role="cell" class="num">
        <AcknowledgeButton regression={one} ask={ask} />
      </td>
    </tr>
  );
}
