// The division of the job's wall time: a bar, its largest losses, and the whole as a table.

import type { Report } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { GroupLegend, StackBar } from "../../charts/stack";
import { GROUPS, groupColor, groupLabel } from "../../model/buckets";
import { durationNs, percent } from "../../model/format";
import { groupSums, type Part, partsOf } from "../../model/partition";
import { Swatch } from "../../ui/controls";
import { Panel } from "../../ui/panel";

const SHOWN = 8;

export function PartitionPanel({ answer }: { answer: Answer<Report> }) {
  return (
    <Panel
      id="partition"
      class="w8"
      title="Where the time went"
      answer={answer}
      empty={(report) => (report.wall_ns > 0 ? null : "The job has not begun yet.")}
      table={(report) => <PartitionTable report={report} />}
    >
      {(report) => {
        const parts = partsOf(report);
        const sums = groupSums(parts);
        return (
          <>
            <StackBar sums={sums} large of="Wall time" />
            <div class="under-bar">
              <GroupLegend sums={sums} />
            </div>
            <Largest parts={parts} wall_ns={report.wall_ns} />
          </>
        );
      }}
    </Panel>
  );
}

function Largest({ parts, wall_ns }: { parts: readonly Part[]; wall_ns: number }) {
  const losses = parts
    .filter((part) => part.group !== "effective" && part.ns > 0)
    .sort((x, y) => y.ns - x.ns)
    .slice(0, SHOWN);
  const largest = losses[0]?.ns ?? 1;
  return (
    <ol class="bars two" aria-label="Largest losses">
      {losses.map((part) => (
        <li key={part.bucket}>
          <span class="name">{part.label}</span>
          <span class="track" aria-hidden="true">
            <i
              style={{ width: `${(100 * part.ns) / largest}%`, background: groupColor(part.group) }}
            />
          </span>
          <span class="num">{durationNs(part.ns)}</span>
          <span class="num muted">{percent((100 * part.ns) / wall_ns)}</span>
        </li>
      ))}
    </ol>
  );
}

function PartitionTable({ report }: { report: Report }) {
  const parts = partsOf(report);
  const sums = groupSums(parts);
  const share = (ns: number): string => percent((100 * ns) / Math.max(1, report.wall_ns));
  return (
    <table>
      <caption class="hidden">Wall time by group and bucket</caption>
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col" class="num">
            Time
          </th>
          <th scope="col" class="num">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {GROUPS.filter((group) => sums[group] > 0).map((group) => {
          const own = parts.filter((part) => part.group === group && part.ns > 0);
          return (
            <>
              <tr key={group}>
                <th scope="row">
                  <Swatch color={groupColor(group)} />
                  {groupLabel(group)}
                </th>
                <td class="num">{durationNs(sums[group])}</td>
                <td class="num">{share(sums[group])}</td>
              </tr>
              {own.length > 1 &&
                own.map((part) => (
                  <tr key={part.bucket} class="indent">
                    <th scope="row">{part.label}</th>
                    <td class="num muted">{durationNs(part.ns)}</td>
                    <td class="num muted">{share(part.ns)}</td>
                  </tr>
                ))}
            </>
          );
        })}
      </tbody>
    </table>
  );
}
