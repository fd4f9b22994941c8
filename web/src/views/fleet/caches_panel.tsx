// What compile caches were worth to the fleet: how many attempts got one, what was found, what it saved.

import type { Group, GroupCache, Rollup } from "../../api/types";
import { useApi } from "../../api/use_api";
import { count, deviceHours, duration, keyText, percent, plural } from "../../model/format";
import { fleetPath, type FleetState } from "../../state/fleet_state";
import { Kpi } from "../../ui/controls";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

type Row = Group & { compile_cache: GroupCache };

const compiled = (group: Group): group is Row => group.compile_cache !== null;

/** Graphs and times are known of those alone that told. */
const told = (row: Row, value: number): number | null =>
  row.compile_cache.told > 0 ? value : null;

const number = (
  name: string,
  label: string,
  of: (row: Row) => number | null,
  text: (x: number | null) => string,
): Column<Row> => ({ name, label, num: true, sort: of, cell: (row) => text(of(row)) });

const BRIEF = ["key", "attempts", "coverage", "hit_rate", "saved", "saved_hours"];

const columns: readonly Column<Row>[] = [
  {
    name: "key",
    label: "Group",
    head: true,
    sort: (row) => keyText(row.key),
    cell: (row) => keyText(row.key),
  },
  number("attempts", "Attempts that compiled", (row) => row.compile_cache.attempts, count),
  number("asked", "Asked for archives", (row) => row.compile_cache.asked, count),
  number("unpacked", "Got some", (row) => row.compile_cache.unpacked, count),
  number("coverage", "Coverage", (row) => row.compile_cache.unpacked_pct, percent),
  number("told", "Told of graphs", (row) => row.compile_cache.told, count),
  number("hits", "Found", (row) => told(row, row.compile_cache.hits), count),
  number("misses", "Not found", (row) => told(row, row.compile_cache.misses), count),
  number("bypasses", "Cannot be kept", (row) => told(row, row.compile_cache.bypasses), count),
  number("hit_rate", "Hit rate", (row) => row.compile_cache.hit_pct, percent),
  number("original", "Took once", (row) => row.compile_cache.original_s, duration),
  number("saved", "Saved", (row) => row.compile_cache.saved_s, duration),
  number(
    "saved_hours",
    "Saved device-hours",
    (row) => row.compile_cache.saved_device_hours,
    deviceHours,
  ),
];

export function CachesPanel({ state }: { state: FleetState }) {
  const by = state.by || "family";
  const answer = useApi<Rollup>(fleetPath("rollup", state, { by }));
  const table = (data: Rollup, brief: boolean) => (
    <DataTable
      caption={`Compile caches by ${by}`}
      columns={columns.filter((column) => !brief || BRIEF.includes(column.name))}
      rows={data.groups.filter(compiled)}
      key_of={(row) => JSON.stringify(row.key)}
      cards
    />
  );
  return (
    <Panel
      id="caches"
      class="w12"
      title="Compile caches"
      answer={answer}
      empty={(data) =>
        data.total.compile_cache ? null : "No attempt that began in this period compiled anything."
      }
      table={(data) => table(data, false)}
    >
      {(data) => (
        <>
          {data.total.compile_cache && <Whole cache={data.total.compile_cache} />}
          {table(data, true)}
          <p class="muted under-bar">
            Coverage is of the attempts that compiled: those that got archives of a cache that jobs
            share. The hit rate is of the graphs that torch looked for, in that cache or the
            machine&apos;s own. Saved is an estimate: what torch noted when it first compiled what
            was wholly found now, less what finding it took; of each attempt its slowest rank, as
            ranks compile side by side. Where only a part was found nothing is counted.
          </p>
        </>
      )}
    </Panel>
  );
}

function Whole({ cache }: { cache: GroupCache }) {
  return (
    <dl class="strip">
      <Kpi label="Coverage">
        {percent(cache.unpacked_pct)}{" "}
        <small>
          {count(cache.unpacked)} of {plural(cache.attempts, "attempt")} that compiled;{" "}
          {count(cache.asked)} asked
        </small>
      </Kpi>
      <Kpi label="Hit rate">
        {percent(cache.hit_pct)}{" "}
        <small>
          {cache.told > 0
            ? `${count(cache.hits)} of ${plural(cache.hits + cache.misses, "graph")}, ` +
              `${count(cache.bypasses)} cannot be kept`
            : "no attempt told"}
        </small>
      </Kpi>
      <Kpi label="Saved">
        {duration(cache.saved_s)}{" "}
        <small>
          {cache.told > 0
            ? `of ${duration(cache.original_s)}; ${deviceHours(cache.saved_device_hours)} device-hours`
            : "no attempt told"}
        </small>
      </Kpi>
    </dl>
  );
}
