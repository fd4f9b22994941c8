// Who came last: through the stages of a start, and through steps.

import type { Report, ReportRank } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { bucketLabel, groupColor } from "../../model/buckets";
import { attemptText, count, durationInColumn, durationNs, percent } from "../../model/format";
import { linkTo } from "../../state/address";
import { besideRank } from "../../timeline/timeline";
import { type Column, DataTable } from "../../ui/data_table";
import { Panel } from "../../ui/panel";

const STAGES_SHOWN = 8;
const RANKS_SHOWN = 8;
type Stage = Report["critical_stages"][number];

const stageColumns: readonly Column<Stage>[] = [
  {
    name: "stage",
    label: "Stage",
    head: true,
    sort: (row) => row.stage,
    cell: (row) => bucketLabel(row.stage),
  },
  {
    name: "attempt",
    label: "Attempt",
    num: true,
    sort: (row) => row.attempt,
    cell: (row) => `#${attemptText(row.attempt)}`,
  },
  {
    name: "rank",
    label: "Last rank",
    num: true,
    sort: (row) => row.rank,
    cell: (row) => count(row.rank),
  },
  {
    name: "held",
    label: "Held up the others",
    num: true,
    sort: (row) => row.held_up_ns,
    cell: (row) => durationInColumn(row.held_up_ns / 1e9),
  },
];

export function StagesPanel({ answer }: { answer: Answer<Report> }) {
  const sorted = (report: Report): Stage[] =>
    [...report.critical_stages].sort((x, y) => y.held_up_ns - x.held_up_ns);
  return (
    <Panel
      id="stages"
      title="Critical rank of each stage"
      note="who the others waited for"
      answer={answer}
      empty={(report) => (report.critical_stages.length ? null : "No stage was held up.")}
      table={(report) => (
        <DataTable
          caption="Critical ranks"
          columns={stageColumns}
          rows={sorted(report)}
          key_of={(row) => `${row.stage}/${row.attempt}`}
        />
      )}
    >
      {(report) => {
        const rows = sorted(report).slice(0, STAGES_SHOWN);
        const largest = Math.max(rows[0]?.held_up_ns ?? 0, 1);
        return (
          <ol class="bars wide-value">
            {rows.map((row) => (
              <li key={`${row.stage}/${row.attempt}`}>
                <span class="name">{bucketLabel(row.stage)}</span>
                <span class="track" aria-hidden="true">
                  <i
                    style={{
                      width: `${(100 * row.held_up_ns) / largest}%`,
                      background: groupColor(row.stage),
                    }}
                  />
                </span>
                <span class="num">{durationNs(row.held_up_ns)}</span>
                <span class="num muted">
                  #{attemptText(row.attempt)}, rank {row.rank}
                </span>
              </li>
            ))}
          </ol>
        );
      }}
    </Panel>
  );
}

/** To the rank's row on the timeline, where not all ranks have one. */
function RankLink({ rank, ranks }: { rank: number; ranks: number }) {
  const beside = besideRank(rank, ranks);
  if (!beside) return <>{rank}</>;
  return (
    <a
      class="underlined"
      href={linkTo({ ranks: beside, panel: "timeline" })}
      title="Show on the timeline"
    >
      {rank}
    </a>
  );
}

function rankColumns(report: Report): readonly Column<ReportRank>[] {
  const steps = Math.max(1, report.steps.finished);
  return [
    {
      name: "rank",
      label: "Rank",
      head: true,
      sort: (row) => row.rank,
      cell: (row) => (
        <span class="nowrap">
          <RankLink rank={row.rank} ranks={report.ranks.length} />{" "}
          {row.straggler && (
            <span class="badge warn">
              slow in {row.slow_in ? bucketLabel(row.slow_in) : "steps"}
            </span>
          )}
        </span>
      ),
    },
    {
      name: "host",
      label: "Host",
      sort: (row) => row.host,
      cell: (row) => <code class="nowrap">{row.host}</code>,
    },
    {
      name: "held",
      label: "Held up",
      num: true,
      sort: (row) => row.held_up_ns,
      cell: (row) => durationInColumn(row.held_up_ns / 1e9),
    },
    {
      name: "critical",
      label: "Ended last",
      num: true,
      sort: (row) => row.critical_steps,
      cell: (row) => percent((100 * row.critical_steps) / steps),
    },
  ];
}

export function StragglersPanel({ answer }: { answer: Answer<Report> }) {
  const stragglers = answer.data?.ranks.filter((rank) => rank.straggler).length ?? 0;
  const table = (report: Report, last?: number) => {
    const rows = [...report.ranks].sort((x, y) => y.held_up_ns - x.held_up_ns);
    return (
      <DataTable
        caption="Ranks, the slowest first"
        columns={rankColumns(report)}
        rows={last ? rows.slice(0, last).filter((row, i) => i < 3 || row.held_up_ns > 0) : rows}
        key_of={(row) => String(row.rank)}
        cards
      />
    );
  };
  return (
    <Panel
      id="stragglers"
      title="Stragglers"
      note={
        answer.data &&
        (stragglers
          ? `${count(stragglers)} of ${count(answer.data.ranks.length)} ranks`
          : "none; the slowest ranks")
      }
      answer={answer}
      empty={(report) => (report.ranks.length ? null : "No rank has reported yet.")}
      table={(report) => table(report)}
    >
      {(report) => <div class="scroll tall">{table(report, RANKS_SHOWN)}</div>}
    </Panel>
  );
}
