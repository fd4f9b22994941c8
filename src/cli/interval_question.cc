#include "cli/interval_question.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace headway::cli {
namespace {

std::string count(std::uint64_t n, std::string_view one) {
  if (n == 0) return fmt::format("no {}", one);
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

// "40 s", "3 min".
std::string length_of(double seconds) {
  return seconds < 60 ? fmt::format("{:.0f} s", seconds)
                      : fmt::format("{:.0f} min", std::floor(seconds / 60));
}

}  // namespace

IntervalQuestion question_of(IntervalJob job) {
  IntervalQuestion q;
  q.loop_s = job.loop_s;
  q.cost = job.cost;
  q.cost_assumed = job.saves == 0;
  if (q.cost_assumed) q.cost.blocking_s = kBlockingAssumedS;
  q.replica = job.replica && q.cost.stage_s > 0;
  q.rate = interval::RateEstimate();
  q.rate->add(job.history);
  q.failures = q.rate->failures(q.replica, job.answered);
  q.job = std::move(job);
  return q;
}

std::optional<std::string> too_short(const IntervalJob& job, const Known& known) {
  const bool enough = job.loop_s >= record_min_s;
  if (enough || (known.rate && (known.cost || job.saves >= saves_min))) return std::nullopt;
  return fmt::format("The record is {} long, with {} and {}: too short to say how often to save.",
                     length_of(job.loop_s), count(job.saves, "save"),
                     count(static_cast<std::uint64_t>(job.history.total()), "failure"));
}

}  // namespace headway::cli
