// One job: how it stands, where its time went, and why.

import type { Report } from "../../api/types";
import { useApi } from "../../api/use_api";
import {
  besideFailures,
  count,
  durationNs,
  instant,
  keyText,
  percent,
  plural,
} from "../../model/format";
import { mean } from "../../model/partition";
import { apiPath } from "../../state/fleet_state";
import { Kpi, StateBadge } from "../../ui/controls";
import { pinInLinks } from "../../ui/copy_link";
import { Failed, Skeleton } from "../../ui/panel";
import { AdvicePanel } from "./advice_panel";
import { AttemptsPanel } from "./attempts_panel";
import { CheckpointsPanel, CompilePanel } from "./compile_panel";
import { JobFailuresPanel } from "./failures_panel";
import { PartitionPanel } from "./partition_panel";
import { StagesPanel, StragglersPanel } from "./ranks_panels";
import { TimelinePanel } from "./timeline_panel";

export function JobView({ job }: { job: string }) {
  const answer = useApi<Report>(apiPath(`/jobs/${encodeURIComponent(job)}/report`, {}));
  pinInLinks({});
  const report = answer.data;
  if (!report && answer.error?.status === 404) return <NoSuchJob job={job} />;
  return (
    <>
      <div class="job-head">
        <nav aria-label="Breadcrumb">
          <a href="#/jobs">Jobs</a> <span class="muted">/</span>
        </nav>
        <h1>{job}</h1>
        {report && <StateBadge state={report.state} />}
        {report && (
          <span class="muted">
            {instant(report.begin_ns)} to {report.running ? "now" : instant(report.end_ns)} UTC
          </span>
        )}
        {report && <Attributes report={report} />}
      </div>
      {!report && answer.error && <Failed error={answer.error} retry={answer.retry} />}
      {!report && !answer.error && <Skeleton rows={3} label={job} />}
      {report && <Headline report={report} />}
      <div class="grid below">
        <PartitionPanel answer={answer} />
        <AdvicePanel job={job} />
        <TimelinePanel job={job} answer={answer} />
        <div class="w8 column">
          <JobFailuresPanel answer={answer} />
          <AttemptsPanel answer={answer} />
          <StragglersPanel answer={answer} />
        </div>
        <div class="w4 column">
          <CompilePanel answer={answer} />
          <CheckpointsPanel answer={answer} />
          <StagesPanel answer={answer} />
        </div>
      </div>
    </>
  );
}

function NoSuchJob({ job }: { job: string }) {
  return (
    <>
      <h1>{job}</h1>
      <div class="told">
        <p>
          <strong>This collector has no job of this name.</strong> It may have been removed, or the
          link is of another collector.
        </p>
        <a class="button" href="#/jobs">
          All jobs
        </a>
      </div>
    </>
  );
}

const SHOWN = ["family", "team", "cluster", "hardware", "revision", "torch", "priority"];

function Attributes({ report }: { report: Report }) {
  const shown = SHOWN.filter((name) => report.attrs[name]);
  if (!shown.length) return null;
  return (
    <ul class="chips wide-only" aria-label="Attributes">
      {shown.map((name) => (
        <li key={name} class="chip plain" title={name}>
          {keyText({ [name]: report.attrs[name] ?? "" })}
        </li>
      ))}
    </ul>
  );
}

function recoveredWords({ l1 }: Report): string {
  const n = l1.time_to_recover_ns.length;
  if (n > 0) return `mean of ${plural(n, "recovery", "recoveries")}`;
  return l1.failures + l1.user_errors + l1.preemptions > 0 ? "has not recovered" : "nothing failed";
}

function Headline({ report }: { report: Report }) {
  const { l1 } = report;
  const recoveries = l1.time_to_recover_ns;
  return (
    <dl class="kpis">
      <Kpi label="ETT">
        {percent(report.ett_pct)}
        <small>
          {percent(report.idleness_pct)} idle, {percent(report.failure_pct)} failure
        </small>
      </Kpi>
      <Kpi label="Wall time">
        {durationNs(report.wall_ns)}
        <small>and {durationNs(report.queued_ns)} queued</small>
      </Kpi>
      <Kpi label="Time to start">
        {durationNs(l1.time_to_start_ns)}
        <small>{l1.time_to_start_ns === null ? "has not trained yet" : "first attempt"}</small>
      </Kpi>
      <Kpi label="Time to recover">
        {durationNs(mean(recoveries))}
        <small>{recoveredWords(report)}</small>
      </Kpi>
      <Kpi label="Failures">
        <span class={l1.failures ? "bad" : ""}>{count(l1.failures)}</span>{" "}
        <span class="beside">{besideFailures(l1.user_errors)}</span>
        <small>
          {count(l1.preemptions)} preempted{l1.user_errors > 0 && "; user errors are counted apart"}
        </small>
      </Kpi>
      <Kpi label="Unsaved training">
        {durationNs(report.unsaved_ns)}
        <small>beyond what was restored</small>
      </Kpi>
      <Kpi label="Steps">
        {count(report.steps.finished)}
        <small>
          p50 {durationNs(report.steps.p50_ns)}, p99 {durationNs(report.steps.p99_ns)}
        </small>
      </Kpi>
    </dl>
  );
}
