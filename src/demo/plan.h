// A made-up fleet, for somebody who wants to see the page before they have one: jobs of some model
// families over ninety days, each with its starts, failures, checkpoints and restarts, drawn from
// one seed. Things happen in it that the page is there to show:
//
//   - compile caches come into use, family by family, and starts become quicker;
//   - one family becomes a larger part of the fleet, which moves the fleet's ETT% though no job
//     has changed (a mix shift);
//   - for four days a cluster preempts much (a preemption wave);
//   - a newer torch compiles longer, for one family (a regression);
//   - one host fails far more often than it should (a lemon);
//   - a job of many ranks runs now, and one of them holds up all the others (a straggler).
//
// Pure: the same seed and the same `now` give the same jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headway::demo {

inline constexpr int kDays = 90;
inline constexpr int kCachesFromDay = 25;  // of the ninety
// The page's usual thirty days begin with the mix shift, and hold the rest.
inline constexpr int kMixShiftDay = 60;
inline constexpr int kPreemptionsDay = 70, kPreemptionsDays = 4;
inline constexpr int kRegressionDay = 83;
inline constexpr const char* kRegressedFamily = "dlrm-ctr";
inline constexpr const char* kLemonHost = "gpu-017";
inline constexpr const char* kLargeJob = "llm-70b-pretrain";
inline constexpr std::uint32_t kLargeRanks = 256, kLargeSlowRank = 203;

struct PlannedEnd {
  std::int64_t after_ns = 0;  // of training; the attempt is cut off there
  int origin = 0;             // hw_origin
  std::string category;
  std::string reason;
  std::uint32_t rank = 0;
};

struct PlannedJob {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::uint32_t ranks = 1;
  std::vector<std::string> hosts;  // by rank
  std::int64_t submitted_ns = 0;
  std::int64_t queued_ns = 0, scheduling_ns = 0, hardware_setup_ns = 0;
  // In the order of event::kInitStages, without the last one (restore).
  std::vector<std::int64_t> stages_ns;
  std::int64_t restore_ns = 0;
  std::int64_t compile_ns = 0;
  bool warm = false;
  std::int64_t step_ns = 0;
  int steps = 0;                           // to the end of the job
  int save_every = 0;                      // steps
  std::int64_t save_ns = 0;                // that training is blocked for
  double waits_share = 0;                  // of a step, for data
  std::optional<std::uint32_t> slow_rank;  // ends each step last
  std::int64_t publish_ns = 0;
  std::vector<PlannedEnd> ends;  // of its attempts but the last
  std::uint64_t seed = 0;        // for what differs from step to step
};

// When one of the ninety days begins.
[[nodiscard]] std::int64_t day_begin_ns(std::int64_t now_ns, int day);

// In the order in which they were submitted; none after `now_ns`.
[[nodiscard]] std::vector<PlannedJob> plan_fleet(std::uint64_t seed, std::int64_t now_ns,
                                                 int jobs_per_day);

}  // namespace headway::demo
