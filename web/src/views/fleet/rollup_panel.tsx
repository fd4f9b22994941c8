// The fleet divided by one dimension, or two: a row each, with where its hours went.

import type { Group, Rollup } from "../../api/types";
import { useApi } from "../../api/use_api";
import { GroupLegend, StackBar } from "../../charts/stack";
import { byGroup } from "../../model/buckets";
import {
  besideFailures,
  count,
  deviceHours,
  durationInColumn,
  keyText,
  number3,
  percent,
} from "../../model/format";
import { change, linkTo, useAddress } from "../../state/address";
import { DIMENSIONS, fleetPath, type FleetState } from "../../state/fleet_state";
import { choice } from "../../state/query";
import { Select } from "../../ui/controls";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

function columns(state: FleetState, full: boolean): readonly Column<Group>[] {
  const all: (Column<Group> & { extra?: boolean })[] = [
    {
      name: "key",
      label: "Group",
      head: true,
      sort: (row) => keyText(row.key),
      cell: (row) => <KeyLink row={row} state={state} />,
    },
    {
      name: "ett",
      label: "ETT%",
      num: true,
      sort: (row) => row.ett_pct.value,
      cell: (row) => percent(row.ett_pct.value),
    },
    {
      name: "range",
      label: "95% range",
      num: true,
      extra: true,
      cell: (row) => `${percent(row.ett_pct.low)} to ${percent(row.ett_pct.high)}`,
    },
    {
      name: "where",
      label: "Where it went",
      class: "stack-cell",
      cell: (row) => <StackBar sums={byGroup(row.buckets)} of={keyText(row.key)} />,
    },
    {
      name: "hours",
      label: "Device-hours",
      num: true,
      sort: (row) => row.device_hours,
      cell: (row) => deviceHours(row.device_hours),
    },
    {
      name: "jobs",
      label: "Jobs",
      num: true,
      sort: (row) => row.jobs,
      cell: (row) => count(row.jobs),
    },
    {
      name: "running",
      label: "Running",
      num: true,
      extra: true,
      sort: (row) => row.running,
      cell: (row) => count(row.running),
    },
    {
      name: "tts",
      label: "To start",
      num: true,
      sort: (row) => row.time_to_start_s?.mean.value ?? null,
      cell: (row) => durationInColumn(row.time_to_start_s?.mean.value),
    },
    {
      name: "ttr",
      label: "To recover",
      num: true,
      sort: (row) => row.time_to_recover_s?.mean.value ?? null,
      cell: (row) => durationInColumn(row.time_to_recover_s?.mean.value),
    },
    {
      name: "rate",
      label: "Failures / 1000 h",
      text: "Failures per 1000 device-hours",
      hint: "Of infrastructure or unknown origin; user errors and preemptions are counted apart",
      num: true,
      sort: (row) => row.failures_per_1000_device_hours.value,
      cell: (row) => (
        <>
          {number3(row.failures_per_1000_device_hours.value)}
          {row.user_errors > 0 && <div class="muted">{besideFailures(row.user_errors)}</div>}
        </>
      ),
    },
    {
      name: "preempted",
      label: "Preemptions",
      num: true,
      extra: true,
      sort: (row) => row.preemptions,
      cell: (row) => count(row.preemptions),
    },
    {
      name: "unsaved",
      label: "Unsaved device-hours",
      num: true,
      extra: true,
      sort: (row) => row.unsaved_device_hours,
      cell: (row) => deviceHours(row.unsaved_device_hours),
    },
  ];
  return all.filter((column) => full || !column.extra);
}

/** A group's name filters the whole view by it. */
function KeyLink({ row, state }: { row: Group; state: FleetState }) {
  const added = Object.entries(row.key).map(([name, value]) => `${name}:${value ?? ""}`);
  const where = [...new Set([...state.where, ...added])];
  return <a href={linkTo({ where })}>{keyText(row.key)}</a>;
}

export function RollupPanel({ state }: { state: FleetState }) {
  const { query } = useAddress();
  const one = choice(query, "roll", DIMENSIONS, state.by || "family");
  const two = choice(query, "and", ["", ...DIMENSIONS], "");
  const by = two && two !== one ? `${one},${two}` : one;
  const answer = useApi<Rollup>(fleetPath("rollup", state, { by }));
  const options = DIMENSIONS.map((value) => ({ value, label: value }));
  const table = (data: Rollup, full: boolean) => (
    <div class="scroll tall">
      <DataTable
        caption={`Fleet by ${by}`}
        columns={columns(state, full)}
        rows={data.groups}
        key_of={(row) => JSON.stringify(row.key)}
        cards
      />
      {data.more > 0 && <p class="muted">{count(data.more)} smaller groups are not shown.</p>}
    </div>
  );
  return (
    <Panel
      id="rollup"
      class="w7"
      title="Compare groups"
      answer={answer}
      empty={(data) =>
        data.groups.length ? null : "No job ran in this period with these filters."
      }
      controls={
        <>
          <Select label="by" value={one} options={options} choose={(roll) => change({ roll })} />
          <Select
            label="and"
            value={two}
            options={[{ value: "", label: "nothing" }, ...options.filter((o) => o.value !== one)]}
            choose={(value) => change({ and: value })}
          />
        </>
      }
      table={(data) => table(data, true)}
    >
      {(data) => (
        <>
          <GroupLegend sums={byGroup(data.total.buckets)} />
          {table(data, false)}
        </>
      )}
    </Panel>
  );
}
