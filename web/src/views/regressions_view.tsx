// Every regression that was found: what, where, since when, why, and who has seen it.

import { useEffect, useState } from "preact/hooks";
import type {
  Dimensions,
  Loss,
  Losses,
  Regression,
  Regressions,
  RegressionTerm,
  Sla,
} from "../api/types";
import { useApi } from "../api/use_api";
import { beganDay, beganRange } from "../model/began";
import { bucketLabel, categoryWords, componentWords } from "../model/buckets";
import { nowNs } from "../model/clock";
import { dayOfNs } from "../model/days";
import {
  attemptText,
  bothInUnit,
  chance,
  count,
  dayText,
  deviceHours,
  duration,
  instant,
  keyText,
  number3,
  percent,
  points,
} from "../model/format";
import { remedy } from "../model/verdict";
import { type Unwatched, unwatched } from "../model/watched";
import { change, useAddress } from "../state/address";
import { choice, first } from "../state/query";
import { Segments, StateBadge } from "../ui/controls";
import { pinInLinks } from "../ui/copy_link";
import { type Column, DataTable } from "../ui/data_table";
import { Panel } from "../ui/panel";
import { Words } from "../ui/words";
import { AcknowledgeButton, AcknowledgeDialog } from "./acknowledge";

const STATES = ["open", "all"] as const;

export function RegressionsView() {
  const { query } = useAddress();
  const state = choice(query, "state", STATES, first(query, "id") ? "all" : "open");
  const answer = useApi<Regressions>(`/api/v1/regressions?state=${state}`);
  const losses = useApi<Losses>("/api/v1/fleet/losses");
  const dimensions = useApi<Dimensions>("/api/v1/fleet/dimensions");
  const [asked, ask] = useState<Regression | null>(null);
  const blind =
    answer.data && dimensions.data
      ? unwatched(answer.data, dimensions.data.first_day, dayOfNs(nowNs()))
      : null;
  pinInLinks({});
  return (
    <>
      <div class="controls">
        <h1>Regressions</h1>
        <Segments
          label="State"
          value={state}
          options={[
            { value: "open", label: "open" },
            { value: "all", label: "all" },
          ]}
          choose={(value) => change({ state: value, id: null })}
        />
        {answer.data && (
          <span class="muted">
            {blind
              ? blind.headline
              : `${count(answer.data.series)} series watched, last checked ${instant(answer.data.checked_ns)} UTC`}
            {answer.data.attempts_left_out > 0 &&
              `; the oldest ${count(answer.data.attempts_left_out)} attempts had no room`}
          </span>
        )}
      </div>
      <div class="grid">
        <div class="w8">
          <List
            answer={answer}
            blind={blind}
            losses={losses.data?.losses ?? []}
            state={state}
            ask={ask}
          />
        </div>
        <div class="w4">
          <SlaPanel answer={answer} />
        </div>
      </div>
      {asked && <AcknowledgeDialog regression={asked} close={() => ask(null)} />}
    </>
  );
}

interface ListProps {
  answer: ReturnType<typeof useApi<Regressions>>;
  blind: Unwatched | null;
  losses: readonly Loss[];
  state: "open" | "all";
  ask: (one: Regression) => void;
}

const rank = { open: 0, acknowledged: 1, gone: 2 };

function List({ answer, blind, losses, state, ask }: ListProps) {
  const { query } = useAddress();
  const chosen = first(query, "id");
  // What somebody looks after is not open, whatever the collector counts to it.
  const list = (answer.data?.regressions ?? [])
    .filter((one) => state === "all" || one.state === "open")
    .sort(
      (x, y) => rank[x.state] - rank[y.state] || y.device_hours_per_day - x.device_hours_per_day,
    );
  useEffect(() => {
    if (chosen) document.getElementById(`panel-r-${chosen}`)?.scrollIntoView({ block: "start" });
  }, [chosen, answer.data === null]);
  if (answer.data && list.length)
    return (
      <>
        {list.map((one) => (
          <RegressionPanel key={one.id} one={one} answer={answer} losses={losses} ask={ask} />
        ))}
      </>
    );
  return (
    <Panel
      id="regressions"
      title="Regressions"
      answer={answer}
      rows={14}
      empty={() =>
        blind
          ? `${blind.headline}. ${blind.need}`
          : state === "open"
            ? "No regression is open. “all” shows those that were acknowledged or are gone."
            : "No regression was ever found."
      }
    >
      {() => null}
    </Panel>
  );
}

interface OneProps {
  one: Regression;
  answer: ListProps["answer"];
  losses: readonly Loss[];
  ask: ListProps["ask"];
}

function RegressionPanel({ one, answer, losses, ask }: OneProps) {
  return (
    <Panel
      id={`r-${one.id}`}
      class="regression"
      title={`${componentWords(one.component, one.label)} · ${keyText(one.stratum)}`}
      note={<StateBadge state={one.state} />}
      answer={answer}
      controls={<AcknowledgeButton regression={one} ask={ask} />}
      table={() => <TermTable one={one} />}
    >
      {() => (
        <>
          <Facts one={one} />
          <p class="muted">{beganRange(one)}</p>
          <p>
            <Words text={remedy(one, losses)} />
          </p>
          {one.acknowledged && (
            <p class="muted">
              Seen by {one.acknowledged.by}, {instant(one.acknowledged.at_ns)}
              {one.acknowledged.note && `: “${one.acknowledged.note}”`}
            </p>
          )}
          <div class="facts">
            <div>
              <h3>What the dip of ETT% is made of</h3>
              <p class="muted">
                Of all these jobs ({keyText(one.stratum)}), two weeks before against two after: not
                of {componentWords(one.component, one.label)} alone.
              </p>
              <Terms one={one} />
            </div>
            <div>
              <h3>What sets the slow attempts apart</h3>
              <Separators one={one} />
              <h3>Attempts</h3>
              <Attempts one={one} />
            </div>
          </div>
        </>
      )}
    </Panel>
  );
}

function Facts({ one }: { one: Regression }) {
  const change = one.change_pct;
  const [before, after] = bothInUnit(one.before, one.after, one.unit);
  return (
    <dl class="strip">
      <div>
        <dt>Since</dt>
        <dd>{dayText(beganDay(one))}</dd>
      </div>
      <div>
        <dt>Before → after</dt>
        <dd>
          {before} → <b class="bad">{after}</b>
          {change !== null && (
            <small>
              {" "}
              {change > 0 ? "+" : "−"}
              {number3(Math.abs(change))}%
            </small>
          )}
        </dd>
      </div>
      <div>
        <dt>Device-hours a day</dt>
        <dd>{deviceHours(one.device_hours_per_day)}</dd>
      </div>
      <div>
        <dt>Found</dt>
        <dd>
          {instant(one.found_ns)}
          {one.time_to_alert_s !== null && <small> after {duration(one.time_to_alert_s)}</small>}
        </dd>
      </div>
      <div>
        <dt title="q-value: the share of false alarms among all that are as sure as this">
          False alarm
        </dt>
        <dd>{chance(one.q_value)}</dd>
      </div>
    </dl>
  );
}

const TERMS_MAX = 8;

function termWords(term: RegressionTerm): string {
  if (term.name === "rest" || term.kind === "mix" || term.kind === "preemption") return term.label;
  if (term.kind === "failure") return `failures by ${categoryWords(term.name)}`;
  return bucketLabel(term.name);
}

/** Bars to the left take ETT% away, bars to the right give; together they are the dip. */
function Terms({ one }: { one: Regression }) {
  const sorted = [...one.terms].sort((x, y) => Math.abs(y.delta_pct) - Math.abs(x.delta_pct));
  const largest = Math.max(Math.abs(sorted[0]?.delta_pct ?? 0), 0.001);
  const shown = sorted.filter((term, i) => i < TERMS_MAX && Math.abs(term.delta_pct) >= 0.05);
  const rest = sorted.filter((term) => !shown.includes(term));
  if (!one.terms.length) return <p class="muted">It is too young to be taken apart.</p>;
  return (
    <ol class="terms">
      {shown.map((term) => (
        <Term key={term.name} term={term} largest={largest} />
      ))}
      {rest.length > 0 && (
        <Term
          term={{
            name: "rest",
            label: `${rest.length} smaller`,
            kind: "stage",
            delta_pct: rest.reduce((sum, term) => sum + term.delta_pct, 0),
          }}
          largest={largest}
        />
      )}
      <li class="whole">
        <span>dip</span>
        <span />
        <span class="num">{points(one.dip_pct)}</span>
      </li>
    </ol>
  );
}

function Term({ term, largest }: { term: RegressionTerm; largest: number }) {
  const share = (50 * Math.abs(term.delta_pct)) / largest;
  const worse = term.delta_pct < 0;
  return (
    <li>
      <span>{termWords(term)}</span>
      <span class="axis" aria-hidden="true">
        <i
          class={worse ? "worse" : "better"}
          style={{ left: `${worse ? 50 - share : 50}%`, width: `${share}%` }}
        />
      </span>
      <span class="num">{points(term.delta_pct)}</span>
    </li>
  );
}

function TermTable({ one }: { one: Regression }) {
  return (
    <table>
      <caption class="hidden">Terms of the dip: {componentWords(one.component, one.label)}</caption>
      <thead>
        <tr>
          <th scope="col">Term</th>
          <th scope="col">Kind</th>
          <th scope="col" class="num">
            Points of ETT
          </th>
        </tr>
      </thead>
      <tbody>
        {one.terms.map((term) => (
          <tr key={term.name}>
            <th scope="row">{termWords(term)}</th>
            <td>{term.kind}</td>
            <td class="num">{points(term.delta_pct)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">dip</th>
          <td />
          <td class="num">{points(one.dip_pct)}</td>
        </tr>
      </tbody>
    </table>
  );
}

function Separators({ one }: { one: Regression }) {
  if (!one.separates.length) return <p class="muted">Nothing that is known of them.</p>;
  return (
    <ul class="gap">
      {one.separates.map((sets) => (
        <li key={`${sets.field}/${sets.value}`}>
          <b>
            {sets.field} {sets.value || "(none)"}
          </b>{" "}
          <span class="muted nowrap">
            {percent(sets.before_pct)} → {percent(sets.after_pct)} of attempts
          </span>
        </li>
      ))}
    </ul>
  );
}

function Attempts({ one }: { one: Regression }) {
  const [all, setAll] = useState(false);
  const shown = all ? one.attempts : one.attempts.slice(0, 6);
  return (
    <ul class="links">
      {shown.map((attempt) => (
        <li key={`${attempt.job}/${attempt.attempt}`}>
          <a href={`#/job/${encodeURIComponent(attempt.job)}?attempt=${attempt.attempt}`}>
            {attempt.job} #{attemptText(attempt.attempt)}
          </a>
        </li>
      ))}
      {one.attempts.length > shown.length && (
        <li>
          <button type="button" class="quiet" onClick={() => setAll(true)}>
            {one.attempts.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  );
}

const slaColumns: readonly Column<Sla>[] = [
  {
    name: "component",
    label: "Component",
    head: true,
    cell: (row) => componentWords(row.component, bucketLabel(row.component)),
  },
  { name: "target", label: "Target", num: true, cell: (row) => duration(row.target_s) },
  { name: "p50", label: "Half within", num: true, cell: (row) => duration(row.p50_s) },
  {
    name: "p90",
    label: "90% within",
    num: true,
    cell: (row) => (
      <span class={row.p90_s !== null && row.p90_s > row.target_s ? "bad" : ""}>
        {duration(row.p90_s)}
      </span>
    ),
  },
  { name: "alerts", label: "Alerts", num: true, cell: (row) => count(row.alerts) },
];

function SlaPanel({ answer }: { answer: ListProps["answer"] }) {
  return (
    <Panel
      id="sla"
      title="How soon it is told"
      note="from its beginning to the alert"
      answer={answer}
      rows={5}
      empty={(data) => (data.sla.length ? null : "Nothing was told yet.")}
    >
      {(data) => (
        <div class="scroll tall" tabIndex={0} role="group" aria-label="How soon it is told">
          <DataTable
            caption="How soon regressions were told"
            columns={slaColumns}
            rows={data.sla}
            key_of={(row) => row.component}
          />
        </div>
      )}
    </Panel>
  );
}
