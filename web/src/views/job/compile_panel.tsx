// Compilation and what its caches were worth; checkpoints and what they cost.

import type { CompileCache, Report } from "../../api/types";
import type { Answer } from "../../api/use_api";
import { groupColor } from "../../model/buckets";
import { bytes, count, duration, durationNs, percent, plural } from "../../model/format";
import { Panel } from "../../ui/panel";
import { Missed, TraceLines } from "./missed";

export function CompilePanel({ answer }: { answer: Answer<Report> }) {
  return (
    <Panel
      id="compile"
      title="Compilation"
      answer={answer}
      empty={(report) =>
        (report.l2["compile_ns"] ?? 0) > 0 || report.compile_cache ? null : "Nothing was compiled."
      }
      table={(report) => <CompileTable report={report} />}
    >
      {(report) => (
        <>
          <CompileBars report={report} />
          {report.compile_cache ? (
            <>
              <Cache cache={report.compile_cache} />
              <Missed cache={report.compile_cache} />
            </>
          ) : (
            <p class="muted">No cache of torch.compile was noted.</p>
          )}
          <TraceLines />
        </>
      )}
    </Panel>
  );
}

const kindsOf = (report: Report) => [
  { name: "cold", ns: report.compile["cold_ns"] ?? 0 },
  { name: "warm", ns: report.compile["warm_ns"] ?? 0 },
  { name: "recompiled", ns: report.wasted["recompile_ns"] ?? 0 },
];

const ofWall = (ns: number, report: Report): string =>
  percent((100 * ns) / Math.max(1, report.wall_ns));

function CompileTable({ report }: { report: Report }) {
  return (
    <>
      <table>
        <caption class="hidden">Time spent compiling</caption>
        <thead>
          <tr>
            <th scope="col">Compilation</th>
            <th scope="col" class="num">
              Time
            </th>
            <th scope="col" class="num">
              Of the wall time
            </th>
          </tr>
        </thead>
        <tbody>
          {kindsOf(report).map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td class="num">{durationNs(row.ns)}</td>
              <td class="num">{ofWall(row.ns, report)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {report.compile_cache && (
        <>
          <Cache cache={report.compile_cache} />
          <Missed cache={report.compile_cache} all />
        </>
      )}
    </>
  );
}

function CompileBars({ report }: { report: Report }) {
  const rows = kindsOf(report);
  const largest = Math.max(...rows.map((row) => row.ns), 1);
  return (
    <ol class="bars">
      {rows.map((row) => (
        <li key={row.name}>
          <span class="name">{row.name}</span>
          <span class="track" aria-hidden="true">
            {row.ns > 0 && (
              <i
                style={{
                  width: `${(100 * row.ns) / largest}%`,
                  background: groupColor(row.name === "recompiled" ? "wasted" : "compile"),
                }}
              />
            )}
          </span>
          <span class="num">{durationNs(row.ns)}</span>
          <span class="num muted">{ofWall(row.ns, report)}</span>
        </li>
      ))}
    </ol>
  );
}

function Cache({ cache }: { cache: CompileCache }) {
  return (
    <dl class="pairs">
      <dt>Found in caches</dt>
      <dd>
        {percent(cache.hit_pct)}: {count(cache.hits)} of{" "}
        {plural(cache.hits + cache.misses, "graph")}
      </dd>
      <dt>Looked for at all</dt>
      <dd>
        {percent(cache.coverage_pct)}
        {cache.bypasses > 0 && `, ${count(cache.bypasses)} cannot be kept`}
      </dd>
      <dt>Saved</dt>
      <dd>
        {durationNs(cache.saved_ns)} of {durationNs(cache.original_ns)}
      </dd>
      {cache.worst_rank !== null && (
        <>
          <dt>Worst rank</dt>
          <dd>
            rank {cache.worst_rank}, {plural(cache.worst_misses, "miss", "misses")}
          </dd>
        </>
      )}
      <dt>Pulled</dt>
      <dd>
        {count(cache.pulled_files)} files, {bytes(cache.pulled_bytes)} in{" "}
        {durationNs(cache.pull_ns)}
      </dd>
    </dl>
  );
}

export function CheckpointsPanel({ answer }: { answer: Answer<Report> }) {
  return (
    <Panel
      id="checkpoints"
      title="Checkpoints"
      answer={answer}
      empty={(report) => (report.checkpoint.saves ? null : "Nothing has been saved yet.")}
    >
      {({ checkpoint, wall_ns, unsaved_ns }) => (
        <dl class="pairs">
          <dt>Saves</dt>
          <dd>
            {count(checkpoint.saves)}, every {duration(checkpoint.interval_s)}
          </dd>
          <dt>Blocked training</dt>
          <dd>
            {durationNs(checkpoint.blocked_ns)}, {percent((100 * checkpoint.blocked_ns) / wall_ns)}{" "}
            of the wall time
          </dd>
          <dt>Came to nothing</dt>
          <dd class={checkpoint.failed ? "bad" : ""}>{count(checkpoint.failed)}</dd>
          <dt>Unsaved at failures</dt>
          <dd>{durationNs(unsaved_ns)}</dd>
          <dt>Went on from</dt>
          <dd>
            {Object.entries(checkpoint.restarts)
              .map(([tier, n]) => `${tier} ${count(n)} ×`)
              .join(", ") || "no restart yet"}
          </dd>
        </dl>
      )}
    </Panel>
  );
}
