// What compile caches did not have, by attempt and rank, and how one learns which graphs those were.

import type { CompileCache, MissedRow } from "../../api/types";
import { attemptText, count, plural } from "../../model/format";
import { linkTo } from "../../state/address";
import { CopyLine } from "../../ui/copy_line";
import { type Column, DataTable } from "../../ui/data_table";

const SHOWN = 5;
/** Ranks that have rows on the timeline at once (docs/page.md). */
const ROWS_MAX = 64;

function Ranks({ row }: { row: MissedRow }) {
  if (row.count > ROWS_MAX || row.ranks.endsWith("…")) return <>{row.ranks}</>;
  return (
    <a
      class="underlined"
      href={linkTo({ ranks: row.ranks, attempt: String(row.attempt), panel: "timeline" })}
      title="Show on the timeline"
    >
      {row.ranks}
    </a>
  );
}

const columns: readonly Column<MissedRow>[] = [
  {
    name: "attempt",
    label: "Attempt",
    head: true,
    sort: (row) => row.attempt,
    cell: (row) => `#${attemptText(row.attempt)}`,
  },
  { name: "ranks", label: "Ranks", cell: (row) => <Ranks row={row} /> },
  {
    name: "misses",
    label: "Missed each",
    num: true,
    sort: (row) => row.misses,
    cell: (row) => count(row.misses),
  },
  {
    name: "hits",
    label: "Found each",
    num: true,
    sort: (row) => row.hits,
    cell: (row) => count(row.hits),
  },
];

export function Missed({ cache, all }: { cache: CompileCache; all?: boolean }) {
  const rows = all ? cache.missed : cache.missed.slice(0, SHOWN);
  const more = cache.missed.length - rows.length + cache.missed_left_out;
  if (!rows.length) return null;
  return (
    <>
      <DataTable
        caption="Graphs that were in no cache"
        columns={columns}
        rows={rows}
        key_of={(row) => `${row.attempt}/${row.ranks}`}
      />
      {more > 0 && <p class="muted">and {plural(more, "row")} more</p>}
    </>
  );
}

/** Journals know nothing of single graphs: torch's own trace does, where one asks for it. */
export function TraceLines() {
  return (
    <>
      <p class="muted">
        Which graphs, and why each was compiled: run the job traced, then read it.
      </p>
      <CopyLine text="export TORCH_TRACE=/tmp/trace" what="the line that has torch trace a run" />
      <CopyLine text="headway trace /tmp/trace" what="the line that shows graphs and causes" />
    </>
  );
}
