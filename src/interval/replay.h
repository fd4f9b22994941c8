// What a recorded job would have wasted at another interval: its own steps and its own failures, at
// the instants at which they came, with saves laid in between. Unlike the formula it knows that
// four failures came within an hour, or none for a week. What was done is what counts: an attempt
// in which saves cost less gets further before the same failure ends it.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interval/cost.h"

namespace headway::interval {

// One attempt's time in the loop.
struct RecordedAttempt {
  static constexpr std::size_t steps_max = 1 << 18;  // beyond, neighbours are told as one

  std::vector<float> steps_s;    // one after the other, without what saves cost them
  double wall_s = 0;             // from the loop's begin to its end or the failure
  std::optional<Tier> failure;   // nullopt: it ended in good order, or runs
  std::optional<Answer> answer;  // of that failure; nullopt: nobody went on from it

  // Keeps within steps_max.
  void add_step(double seconds);

 private:
  std::uint32_t fold_ = 1;    // steps told as one
  std::uint32_t folded_ = 0;  // of the newest
};

struct Replayed {
  double wall_s = 0;
  double saving_s = 0;
  double lost_s = 0;        // work that was done and not in the state that answered
  std::uint64_t saves = 0;  // on to storage
  std::uint64_t failures = 0;

  Replayed& operator+=(const Replayed& other);
  [[nodiscard]] double waste() const { return wall_s > 0 ? (saving_s + lost_s) / wall_s : 0; }
};

// `replica`: failures begin again from staged state where the record says so, and where it does not
// say, those of a process do.
[[nodiscard]] Replayed replay(const RecordedAttempt& attempt, const Plan& plan,
                              const SaveCost& cost, bool replica);
[[nodiscard]] Replayed replay(const std::vector<RecordedAttempt>& attempts, const Plan& plan,
                              const SaveCost& cost, bool replica);

}  // namespace headway::interval
