#include "agent/restart_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"

namespace headway::agent {
namespace {

// "all 2 restarts are used", "the only restart within 1h is used".
std::string used_up(const RestartBudget& budget) {
  const std::string within =
      budget.window_ns == 0 ? ""
                            : fmt::format(" within {}", base::format_duration(budget.window_ns));
  if (budget.count == 1) return fmt::format("the only restart{} is used", within);
  return fmt::format("all {} restarts{} are used", budget.count, within);
}

}  // namespace

std::string describe(const RestartDecision& decision, int restarts, int restarts_max) {
  if (!decision.restart)
    return decision.why_not.empty() ? "" : fmt::format("; {}", decision.why_not);
  std::string text = fmt::format("; restarting ({} of {})", restarts, restarts_max);
  if (decision.delay_ns > 0) {
    text += fmt::format(" in {:.1f} s", static_cast<double>(decision.delay_ns) / 1e9);
  }
  return text;
}

RestartPolicy::RestartPolicy(RestartBudget budget, bool retry_all, std::uint64_t seed)
    : budget_(budget), retry_all_(retry_all), random_(seed) {}

bool RestartPolicy::budget_left(std::int64_t now_ns) {
  if (budget_.window_ns == 0) return restarts_ < budget_.count;
  while (!recent_.empty() && now_ns - recent_.front() >= budget_.window_ns) recent_.pop_front();
  return static_cast<int>(recent_.size()) < budget_.count;
}

// Each wait is drawn between the least one and three times the last one.
std::int64_t RestartPolicy::next_delay() {
  const std::int64_t top_ns = std::min(3 * std::max(last_delay_ns_, delay_min_ns), delay_max_ns);
  last_delay_ns_ = std::uniform_int_distribution<std::int64_t>(delay_min_ns, top_ns)(random_);
  return last_delay_ns_;
}

RestartDecision RestartPolicy::on_failure(const failure::Verdict& verdict, bool progressed,
                                          std::int64_t now_ns) {
  RestartDecision decision;
  if (budget_.count == 0) return decision;
  fruitless_ = progressed ? 0 : fruitless_ + 1;
  const bool judged = verdict.category != "unknown" && verdict.category != "none";
  if (!retry_all_ && judged && !verdict.retryable && verdict.confidence >= sure) {
    decision.why_not =
        fmt::format("not restarted: {} does not get better by trying again (--retry-all would)",
                    verdict.category);
    return decision;
  }
  if (!budget_left(now_ns)) {
    decision.why_not = "not restarted: " + used_up(budget_);
    return decision;
  }
  if (fruitless_ >= fruitless_max) {
    decision.why_not = fmt::format(
        "not restarted: a crash loop, {} failures in a row without a new step", fruitless_);
    return decision;
  }
  decision.restart = true;
  if (progressed) {
    last_delay_ns_ = 0;
  } else if (fruitless_ > 1) {
    decision.delay_ns = next_delay();
  }
  ++restarts_;
  if (budget_.window_ns > 0) recent_.push_back(now_ns);
  return decision;
}

}  // namespace headway::agent
