// How long the steps of a finished attempt took, from its ranks' journals: from one step's end to
// the next one's, but for those in which something was compiled. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/event.h"

namespace headway::agent {

struct StepTimes {
  std::int64_t steps = 0;     // finished
  std::int64_t measured = 0;  // of them
  std::int64_t median_ns = 0;
  std::int64_t spread_ns = 0;  // from the first quartile to the third
};

// One rank's events, in their order. Pure.
class StepGaps {
 public:
  static constexpr std::size_t gaps_max = 200'000;  // the newest
  static constexpr int first_left_out = 3;          // caches, allocators and clocks warm up

  void take(const event::Event& event);
  [[nodiscard]] StepTimes times() const;

 private:
  std::vector<std::int64_t> gaps_ns_;
  std::size_t at_ = 0;  // where the next goes, once all places are taken
  std::int64_t last_ns_ = 0, last_step_ = 0, steps_ = 0;
  int seen_ = 0;
  bool compiled_ = false;
};

// Of the slowest of the first ranks from `first_rank` on.
inline constexpr int kStepRanksMax = 4;
[[nodiscard]] StepTimes read_step_times(const std::string& attempt_dir, int first_rank, int ranks);

}  // namespace headway::agent
