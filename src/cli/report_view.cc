#include "cli/report_view.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cli/interval_question.h"
#include "failure/redact.h"
#include "timeline/job.h"

namespace headway::cli {
namespace {

// Its ranks died of the signal that somebody sent to end the job.
bool was_asked_to_stop(const timeline::AttemptResult& last) {
  return last.facts.preempt_notice_ns && last.facts.job_end_ns && last.failure &&
         last.failure->info.origin == HW_ORIGIN_USER;
}

JobState state_of(const timeline::JobResult& job, bool alive) {
  if (job.attempts.empty()) return alive ? JobState::running : JobState::unended;
  const timeline::AttemptResult& last = job.attempts.back();
  switch (last.outcome) {
    case timeline::Outcome::running:
      return alive ? JobState::running : JobState::unended;
    case timeline::Outcome::clean:
      return last.facts.preempt_notice_ns ? JobState::stopped : JobState::clean;
    case timeline::Outcome::failed:
      if (was_asked_to_stop(last)) return JobState::stopped;
      return alive && !last.facts.job_end_ns ? JobState::restarting : JobState::failed;
  }
  return JobState::unended;
}

const char* name_of(JobState state) {
  switch (state) {
    case JobState::running:
      return "running";
    case JobState::restarting:
      return "restarting";
    case JobState::clean:
      return "finished";
    case JobState::stopped:
      return "stopped";
    case JobState::failed:
      return "failed";
    case JobState::unended:
      break;
  }
  return "unended";
}

// Every text that somebody other than us has written. The names of the job, of hosts and of files
// stay: they say where to look.
void redact(metrics::Report& report) {
  std::map<std::string, std::string> attrs;
  for (const auto& [key, value] : report.attrs) {
    attrs.emplace(failure::redact_text(key), failure::redact_setting(key, value));
  }
  report.attrs = std::move(attrs);
  std::map<std::string, std::int64_t> spans;
  for (const auto& [name, ns] : report.user_spans) spans[failure::redact_text(name)] += ns;
  report.user_spans = std::move(spans);
  for (metrics::FailureRow& row : report.failure_rows) {
    row.reason = failure::redact_text(row.reason);
  }
  for (metrics::AttemptRow& row : report.attempts) {
    row.restored_tier = failure::redact_text(row.restored_tier);
  }
  std::map<std::string, std::uint64_t> restarts;
  for (const auto& [tier, count] : report.restarts) restarts[failure::redact_text(tier)] += count;
  report.restarts = std::move(restarts);
  for (std::string& note : report.coverage.notes) note = failure::redact_text(note);
}

// As `headway interval` does it of this job, of the same part of it.
std::optional<SaveAdvice> advise_on_saves(const event::JobStreams& streams,
                                          const timeline::JobResult& job) {
  auto wanted = parse_window(kIntervalWindow);
  if (!wanted.ok()) return std::nullopt;
  auto window = resolve_window(*wanted, job);
  if (!window.ok()) return std::nullopt;
  IntervalJob measured = measure_job(streams, job, *window);
  if (measured.steps == 0) return std::nullopt;
  SaveAdvice out;
  out.too_short = too_short(measured).value_or("");
  if (!out.too_short.empty()) return out;
  const IntervalQuestion question = question_of(std::move(measured));
  out.cost_s = question.cost.effective_s();
  const interval::Plan plan =
      interval::best_plan(question.cost, question.failures, question.bounds);
  out.persist_s = plan.persist_s;
  out.stage_s = plan.stage_s;
  return out;
}

}  // namespace

base::Result<View> view_job(const event::JobStreams& streams,
                            const std::optional<WindowText>& window,
                            std::optional<std::int64_t> now_ns, bool advise) {
  const timeline::JobResult job = timeline::attribute_job(streams, {.now_ns = now_ns});
  View view;
  view.state = state_of(job, now_ns.has_value());
  view.windowed = window.has_value();
  view.job_wall_ns = job.ledger.total().sums.total();
  std::optional<metrics::Window> resolved;
  if (window) {
    auto found = resolve_window(*window, job);
    if (!found.ok()) return found.status();
    resolved = *found;
  }
  view.report = metrics::make_report(job, streams, resolved);
  view.report.state = name_of(view.state);
  if (advise && !window && wants_save_advice(view.report))
    view.saves = advise_on_saves(streams, job);
  redact(view.report);
  // An open end reaches one nanosecond further, so that what happened in the last instant counts.
  if (window && window->b.from == WindowEnd::From::open) --view.report.end_ns;
  return view;
}

}  // namespace headway::cli
