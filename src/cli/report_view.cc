#include "cli/report_view.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cli/interval_question.h"
#include "failure/redact_report.h"
#include "timeline/job.h"

namespace headway::cli {
namespace {

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
  view.state = metrics::job_state(job, now_ns.has_value());
  view.windowed = window.has_value();
  view.job_wall_ns = job.ledger.total().sums.total();
  std::optional<metrics::Window> resolved;
  if (window) {
    auto found = resolve_window(*window, job);
    if (!found.ok()) return found.status();
    resolved = *found;
  }
  view.report = metrics::make_report(job, streams, resolved);
  view.report.state = metrics::job_state_name(view.state);
  if (advise && !window && wants_save_advice(view.report))
    view.saves = advise_on_saves(streams, job);
  failure::redact(view.report);
  // An open end reaches one nanosecond further, so that what happened in the last instant counts.
  if (window && window->b.from == WindowEnd::From::open) --view.report.end_ns;
  return view;
}

}  // namespace headway::cli
