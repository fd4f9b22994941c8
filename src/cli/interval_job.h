// What a recorded job says about its own saves and failures: the costs, the rate, and the steps to
// live through again at another interval. Reads the streams; one thread.
//
// Of the ranks of an attempt the one that stood still longest for saves is looked at: steps end
// together, and it is its save that the others wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/stream.h"
#include "interval/rate.h"
#include "interval/recorded.h"
#include "interval/replay.h"
#include "metrics/report.h"
#include "timeline/job.h"

namespace headway::cli {

inline constexpr std::size_t saves_followed_max = 1 << 16;  // of one attempt

struct IntervalJob {
  std::string name;
  std::int64_t begin_ns = 0, end_ns = 0;  // of the window, within the job
  double loop_s = 0;
  std::uint64_t steps = 0;
  std::optional<double> base_step_s;  // undisturbed

  std::uint64_t saves = 0;
  std::uint64_t interference_known = 0;   // of how many of them
  interval::SaveCost cost;                // of a usual one
  std::optional<double> used_interval_s;  // median, of those on to storage

  interval::History history;             // failures that ended an attempt in its loop
  std::uint64_t failed_before_step = 0;  // and those that had nothing to lose
  bool replica = false;         // staged state outlives a process: it says so, or it was seen
  interval::Answered answered;  // failures by what the next attempt that got to begin went on from

  std::vector<interval::RecordedAttempt> attempts;
  double saving_s = 0;  // as it was: blocked, and steps that were slower
  double lost_s = 0;    // as it was: finished steps not saved, and those cut off
  [[nodiscard]] double waste() const { return loop_s > 0 ? (saving_s + lost_s) / loop_s : 0; }
};

[[nodiscard]] IntervalJob measure_job(const event::JobStreams& streams,
                                      const timeline::JobResult& job,
                                      const metrics::Window& window);

}  // namespace headway::cli
