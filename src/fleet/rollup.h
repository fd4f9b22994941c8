// The fleet's account, whole and group by group: ETT%, idleness and failures with their doubt, Time
// to Start and to Recover, failure rates, and where the time went.
//
// What counts how:
// - Shares are of wall time on the chosen days; a job that runs counts with what it has so far.
//   Weighted by device: Σ device time ÷ Σ device time, every hour of a device alike. By job: the
//   mean over jobs of each job's own share.
// - Starts and recoveries are counted on the day on which they began and one by one, whatever the
//   weight; those that are not over are treated as what they are (survival.h).
// - Failures are those of infra and unknown origin, on the day on which they happened; errors of
//   users and preemptions stand beside. Their rate is per device-hour, whatever the weight, with an
//   exact Poisson interval.
// - What compile caches were worth is counted by attempt, on the day on which it began
//   (cache_sum.h), and its times are summed, whatever the weight.
// - An attempt counts with a group when it has wall time or waiting there, so days do not add up to
//   attempts and jobs; everything else does, to the nanosecond.
//
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/wide.h"
#include "fleet/cache_sum.h"
#include "fleet/estimate.h"
#include "fleet/selection.h"
#include "fleet/survival.h"
#include "timeline/bucket.h"

namespace headway::fleet {

struct By {
  std::vector<Dimension> dimensions;  // at most two
  bool day = false;                   // each day of each of them; without dimensions, of all
};

struct RollupGroup {
  std::vector<std::string> key;  // one for each of `by`, a day ("2026-10-01") last
  std::uint64_t jobs = 0, attempts = 0, running = 0;  // running: attempts
  double device_hours = 0;
  base::Int128 wall_ns = 0, queued_ns = 0;  // a large fleet lives for centuries in a month
  Doubt ett_pct, idleness_pct, failure_pct;
  std::optional<Durations> time_to_start, time_to_recover;
  std::uint64_t failures = 0, user_errors = 0, preemptions = 0;
  Doubt failures_per_1000_device_hours;
  double unsaved_device_hours = 0;
  std::optional<double> checkpoint_blocked_pct;
  std::uint64_t saves = 0;
  CacheSum cache;
  // Device-hours; weighted by job: the mean share in %.
  std::array<double, timeline::kBuckets> buckets{};
  std::array<base::Int128, timeline::kBuckets> device_ns{};  // exact, whatever the weight
};

struct Rollup {
  // Those with most device-hours first, each with its days in order of time.
  std::vector<RollupGroup> groups;
  // What is not shown, but in the total: combinations of dimensions, those with least device-hours
  // (by day: with all their days), and days, the earliest.
  std::uint64_t more = 0;
  RollupGroup total;
};

inline constexpr std::uint32_t rollup_groups_max = 1000;
[[nodiscard]] Rollup roll_up(const Snapshot& snapshot, const Selection& selection, const By& by);

}  // namespace headway::fleet
