// Whether a failed job is started again, and when. Pure: the clock and the seed are arguments.
//
//   what cannot get better by itself (a user's error) is not retried
//   three failures in a row without a new step are a crash loop, and cut
//   an attempt that trained something new is followed at once; one that did not, after a wait that
//   grows and is drawn by lot, so that a fleet's jobs do not come back together (decorrelated
//   jitter) at most `count` restarts, in all or within any `window_ns`
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>

#include "agent/restart_budget.h"
#include "failure/classify.h"

namespace headway::agent {

struct RestartDecision {
  bool restart = false;
  std::int64_t delay_ns = 0;
  std::string why_not;  // in words; empty where nobody needs to be told
};

// "; restarting (1 of 3) in 0.4 s", or why not: the end of a line that says what failed.
std::string describe(const RestartDecision& decision, int restarts, int restarts_max);

class RestartPolicy {
 public:
  static constexpr int fruitless_max = 3;
  static constexpr std::int64_t delay_min_ns = 100'000'000;
  static constexpr std::int64_t delay_max_ns = 60'000'000'000;
  static constexpr double sure = 0.6;  // below this a verdict does not keep a job from its retry

  RestartPolicy(RestartBudget budget, bool retry_all, std::uint64_t seed);

  // `progressed`: the attempt trained a step that none before it had.
  RestartDecision on_failure(const failure::Verdict& verdict, bool progressed, std::int64_t now_ns);
  [[nodiscard]] int restarts() const { return restarts_; }

 private:
  [[nodiscard]] bool budget_left(std::int64_t now_ns);
  std::int64_t next_delay();

  const RestartBudget budget_;
  const bool retry_all_;
  std::mt19937_64 random_;
  std::deque<std::int64_t> recent_;  // restarts inside the window; at most `count`
  std::int64_t last_delay_ns_ = 0;
  int fruitless_ = 0;
  int restarts_ = 0;
};

}  // namespace headway::agent
