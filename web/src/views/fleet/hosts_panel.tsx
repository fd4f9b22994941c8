// Hosts that fail more often than their share of the work explains.

import type { Host, Hosts } from "../../api/types";
import { useApi } from "../../api/use_api";
import { chance, count, deviceHours, instant, number3 } from "../../model/format";
import { fleetPath, type FleetState } from "../../state/fleet_state";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

const SHOWN = 6;
const BRIEF = ["host", "failures", "expected", "q", "lost"];

const columns: readonly Column<Host>[] = [
  {
    name: "host",
    label: "Host",
    head: true,
    sort: (row) => row.host,
    cell: (row) => (
      <span class="nowrap">
        <code>{row.host}</code> {row.lemon && <span class="badge bad">lemon</span>}
      </span>
    ),
  },
  {
    name: "failures",
    label: "Failures",
    num: true,
    sort: (row) => row.failures,
    cell: (row) => count(row.failures),
  },
  {
    name: "expected",
    label: "Expected",
    num: true,
    sort: (row) => row.expected,
    cell: (row) => number3(row.expected),
  },
  {
    name: "q",
    label: "False alarm",
    hint: "q-value: the share of false alarms among all hosts that stand out as much as this one",
    num: true,
    sort: (row) => row.q_value,
    cell: (row) => chance(row.q_value),
  },
  {
    name: "lost",
    label: "Lost device-hours",
    num: true,
    sort: (row) => row.device_hours_lost,
    cell: (row) => deviceHours(row.device_hours_lost),
  },
  {
    name: "last",
    label: "Last failure",
    class: "nowrap",
    sort: (row) => row.last_failure_ns,
    cell: (row) => instant(row.last_failure_ns),
  },
];

export function HostsPanel({ state }: { state: FleetState }) {
  const answer = useApi<Hosts>(fleetPath("hosts", state));
  const lemons = answer.data?.hosts.filter((host) => host.lemon).length ?? 0;
  return (
    <Panel
      id="hosts"
      class="w5"
      title="Lemon hosts"
      note={
        answer.data && (lemons ? `${lemons} to take out of service and test` : "none stands out")
      }
      answer={answer}
      empty={(data) => (data.hosts.length ? null : "No host is known in this period.")}
      table={(data) => <HostTable rows={data.hosts} />}
    >
      {(data) => <HostTable rows={data.hosts.slice(0, SHOWN)} brief />}
    </Panel>
  );
}

function HostTable({ rows, brief }: { rows: readonly Host[]; brief?: boolean }) {
  return (
    <div class="scroll tall">
      <DataTable
        caption="Hosts, the worst first"
        columns={columns.filter((column) => !brief || BRIEF.includes(column.name))}
        rows={rows}
        key_of={(row) => row.host}
        cards
      />
    </div>
  );
}
