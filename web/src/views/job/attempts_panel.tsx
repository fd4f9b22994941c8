// The job's attempts: when, how they ended, what they went on from.

import type { Report, ReportAttempt } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { StackBar } from "../../charts/stack";
import { attemptText, count, durationInColumn, instant, plural } from "../../model/format";
import { l2Sums } from "../../model/partition";
import { linkTo } from "../../state/address";
import { StateBadge } from "../../ui/controls";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

const SHOWN = 12;

function columns(report: Report): readonly Column<ReportAttempt>[] {
  const window = (row: ReportAttempt): string =>
    `${Math.max(0, Math.floor(row.begin_ns - report.begin_ns))}-${Math.ceil(row.end_ns - report.begin_ns)}`;
  return [
    {
      name: "attempt",
      label: "Attempt",
      head: true,
      sort: (row) => row.attempt,
      cell: (row) => (
        <a href={linkTo({ t: window(row), panel: "timeline" })} title="Show on the timeline">
          #{attemptText(row.attempt)}
        </a>
      ),
    },
    {
      name: "outcome",
      label: "Outcome",
      sort: (row) => row.outcome,
      cell: (row) => <StateBadge state={row.outcome} />,
    },
    {
      name: "begin",
      label: "Began",
      class: "nowrap",
      sort: (row) => row.begin_ns,
      cell: (row) => instant(row.begin_ns),
    },
    {
      name: "wall",
      label: "Wall time",
      num: true,
      sort: (row) => row.end_ns - row.begin_ns,
      cell: (row) => durationInColumn((row.end_ns - row.begin_ns) / 1e9),
    },
    {
      name: "where",
      label: "Where it went",
      class: "stack-cell",
      cell: (row) => <StackBar sums={l2Sums(row.l2)} of={`Attempt ${attemptText(row.attempt)}`} />,
    },
    {
      name: "steps",
      label: "Steps",
      num: true,
      sort: (row) => row.steps,
      cell: (row) => count(row.steps),
    },
    {
      name: "replayed",
      label: "Replayed",
      num: true,
      sort: (row) => row.replayed_steps,
      cell: (row) => count(row.replayed_steps),
    },
    {
      name: "restored",
      label: "Went on from",
      class: "nowrap",
      cell: (row) =>
        row.restored_step === null ? (
          <span class="muted">the beginning</span>
        ) : (
          `step ${count(row.restored_step)}${row.restored_tier ? `, ${row.restored_tier}` : ""}`
        ),
    },
    {
      name: "ranks",
      label: "Ranks",
      num: true,
      sort: (row) => row.ranks,
      cell: (row) => count(row.ranks),
    },
  ];
}

export function AttemptTable({ report, last }: { report: Report; last?: number }) {
  const rows = [...report.attempts].reverse();
  return (
    <DataTable
      caption="Attempts, the newest first"
      columns={columns(report)}
      rows={last ? rows.slice(0, last) : rows}
      key_of={(row) => String(row.attempt)}
      cards
    />
  );
}

export function AttemptsPanel({ answer }: { answer: Answer<Report> }) {
  const total = answer.data?.attempts.length ?? 0;
  return (
    <Panel
      id="attempts"
      title="Attempts"
      note={
        answer.data &&
        (total > SHOWN ? `the newest ${SHOWN} of ${count(total)}` : plural(total, "attempt"))
      }
      answer={answer}
      empty={(report) => (report.attempts.length ? null : "No attempt has begun yet.")}
      table={(report) => <AttemptTable report={report} />}
    >
      {(report) => (
        <div class="scroll tall">
          <AttemptTable report={report} last={SHOWN} />
        </div>
      )}
    </Panel>
  );
}
