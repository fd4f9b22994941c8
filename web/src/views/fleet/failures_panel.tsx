// What interrupts jobs, by category, and what it costs.

import type { FailureCategory, Failures } from "../../api/types";
import { useApi } from "../../api/use_api";
import { categoryWords, originWords } from "../../model/buckets";
import { count, deviceHours, duration, durationInColumn, instant } from "../../model/format";
import { fleetPath, type FleetState } from "../../state/fleet_state";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

const SHOWN = 6;

const columns: readonly Column<FailureCategory>[] = [
  {
    name: "category",
    label: "Category",
    head: true,
    sort: (row) => row.category,
    cell: (row) => categoryWords(row.category) || "not judged",
  },
  {
    name: "origin",
    label: "Origin",
    sort: (row) => row.origin,
    cell: (row) => originWords(row.origin),
  },
  {
    name: "count",
    label: "Count",
    num: true,
    sort: (row) => row.count,
    cell: (row) => count(row.count),
  },
  {
    name: "jobs",
    label: "Jobs",
    num: true,
    sort: (row) => row.jobs,
    cell: (row) => count(row.jobs),
  },
  {
    name: "lost",
    label: "Lost device-hours",
    num: true,
    sort: (row) => row.device_hours_lost,
    cell: (row) => deviceHours(row.device_hours_lost),
  },
  {
    name: "recover",
    label: "Time to recover",
    num: true,
    sort: (row) => row.time_to_recover_s?.mean.value ?? null,
    cell: (row) => durationInColumn(row.time_to_recover_s?.mean.value),
  },
  {
    name: "last",
    label: "Last",
    class: "nowrap",
    sort: (row) => row.last?.t_ns ?? null,
    cell: (row) =>
      row.last && (
        <a
          href={`#/job/${encodeURIComponent(row.last.job)}?attempt=${row.last.attempt}`}
          title={row.last.job}
        >
          {instant(row.last.t_ns)}
        </a>
      ),
  },
];

export function FailuresPanel({ state }: { state: FleetState }) {
  const answer = useApi<Failures>(fleetPath("failures", state));
  return (
    <Panel
      id="failures"
      class="w5"
      title="Failures by category"
      note={answer.data && `${deviceHours(answer.data.device_hours_lost)} device-hours lost`}
      answer={answer}
      empty={(data) => (data.categories.length ? null : "Nothing failed in this period.")}
      table={(data) => <FailureTable rows={data.categories} />}
    >
      {(data) => (
        <>
          <FailureBars rows={data.categories.slice(0, SHOWN)} />
          {data.categories.length > SHOWN && (
            <p class="muted">{data.categories.length - SHOWN} more in the table.</p>
          )}
        </>
      )}
    </Panel>
  );
}

function FailureTable({ rows }: { rows: readonly FailureCategory[] }) {
  return (
    <DataTable
      caption="Failures by category"
      columns={columns}
      rows={rows}
      key_of={(row) => `${row.category}/${row.origin}`}
      sorted="-lost"
    />
  );
}

function FailureBars({ rows }: { rows: readonly FailureCategory[] }) {
  const largest = Math.max(...rows.map((row) => row.device_hours_lost), 1e-9);
  return (
    <ol class="bars failures">
      {rows.map((row) => (
        <li key={`${row.category}/${row.origin}`}>
          <span class="name">{categoryWords(row.category) || "not judged"}</span>
          <span class="track" aria-hidden="true">
            <i
              style={{
                width: `${(100 * row.device_hours_lost) / largest}%`,
                background: "var(--group-wasted)",
              }}
            />
          </span>
          <span class="num" title="device-hours lost">
            {deviceHours(row.device_hours_lost)}
            <span class="hidden"> device-hours lost</span>
          </span>
          <span class="num muted">{count(row.count)} ×</span>
          <span class="advice">
            {originWords(row.origin)} · {count(row.jobs)} {row.jobs === 1 ? "job" : "jobs"} · back
            in {duration(row.time_to_recover_s?.mean.value)}
            {row.last && (
              <>
                {" "}
                · last{" "}
                <a href={`#/job/${encodeURIComponent(row.last.job)}?attempt=${row.last.attempt}`}>
                  {instant(row.last.t_ns)}, {row.last.job}
                </a>
              </>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}
