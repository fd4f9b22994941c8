// What interrupted the job, each with the line that proves it.

import type { Report, ReportFailure } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { categoryWords, originWords } from "../../model/buckets";
import { endNext, endWords } from "../../model/ended";
import { attemptText, count, durationInColumn, instant } from "../../model/format";
import { linkTo } from "../../state/address";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";
import { Words } from "../../ui/words";

const SHOWN = 6;
const AROUND_NS = 10 * 60e9;

function columns(report: Report): readonly Column<ReportFailure>[] {
  const around = (row: ReportFailure): string => {
    const at = row.t_ns - report.begin_ns;
    return `${Math.max(0, Math.floor(at - AROUND_NS))}-${Math.ceil(at + AROUND_NS)}`;
  };
  return [
    {
      name: "t",
      label: "When (UTC)",
      head: true,
      class: "nowrap",
      sort: (row) => row.t_ns,
      cell: (row) => (
        <a href={linkTo({ t: around(row), panel: "timeline" })} title="Show on the timeline">
          {instant(row.t_ns)}
        </a>
      ),
    },
    {
      name: "category",
      label: "What",
      sort: (row) => row.category ?? row.origin,
      cell: (row) => (
        <>
          {row.category ? categoryWords(row.category) : endWords(row)}
          <div class="muted nowrap">
            {originWords(row.origin)} · #{attemptText(row.attempt)}
            {row.rank !== null && row.category && ` · rank ${row.rank}`}
          </div>
        </>
      ),
    },
    {
      name: "reason",
      label: "The line that proves it",
      class: "reason",
      cell: (row) =>
        row.reason || (
          <span class="said">
            <Words text={endNext(row, report.job)} />
          </span>
        ),
    },
    {
      name: "lost",
      label: "Lost",
      num: true,
      sort: (row) => row.lost_ns,
      cell: (row) => durationInColumn(row.lost_ns / 1e9),
    },
    {
      name: "unsaved",
      label: "Unsaved",
      num: true,
      sort: (row) => row.unsaved_ns,
      cell: (row) => durationInColumn(row.unsaved_ns / 1e9),
    },
    {
      name: "recover",
      label: "Recovered in",
      num: true,
      sort: (row) => row.time_to_recover_ns,
      cell: (row) =>
        row.time_to_recover_ns !== null
          ? durationInColumn(row.time_to_recover_ns / 1e9)
          : goesOn(report)
            ? "not yet"
            : "it did not",
    },
  ];
}

const goesOn = (report: Report): boolean => report.running || report.state === "restarting";

export function JobFailuresPanel({ answer }: { answer: Answer<Report> }) {
  const total = answer.data?.failures.length ?? 0;
  const table = (report: Report, last?: number) => {
    const rows = [...report.failures].sort((x, y) => y.t_ns - x.t_ns);
    return (
      <DataTable
        caption="Failures, the newest first"
        columns={columns(report)}
        rows={last ? rows.slice(0, last) : rows}
        key_of={(row) => `${row.attempt}/${row.t_ns}`}
        cards
      />
    );
  };
  return (
    <Panel
      id="job-failures"
      title="Failures"
      note={total > SHOWN && `the newest ${SHOWN} of ${count(total)}`}
      answer={answer}
      empty={(report) => (report.failures.length ? null : "Nothing has failed.")}
      table={(report) => table(report)}
    >
      {(report) => <div class="scroll tall">{table(report, SHOWN)}</div>}
    </Panel>
  );
}
