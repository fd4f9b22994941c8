// How much finished-step time lay behind each save: what a failure loses is what came after the
// position that the next attempt restores, and that is always a save's. Told of every step and of
// the newest saves; remembers the last steps exactly, so that a save made durable a thousand steps
// later still finds its own.
//
// Bounded; copyable; one owner.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "timeline/facts.h"

namespace headway::timeline {

class SavedPositions {
 public:
  static constexpr std::size_t steps_max = 4096;  // a power of two
  static constexpr std::size_t saves_max = 256;

  // Step `step` ended at position `data`, with `train_ns` of training behind it.
  void stepped(std::int64_t step, std::int64_t data, std::int64_t train_ns) {
    if (ring_.size() < steps_max) {
      ring_.push_back({step, data, train_ns});
    } else {
      ring_[count_ % steps_max] = {step, data, train_ns};
    }
    ++count_;
    if (!awaited_.empty()) [[unlikely]]
      settle_awaited(step);
  }
  // Looks at the newest saves; cheap when there is none that it does not know.
  void saved(const Facts& facts) {
    const std::int64_t durable = facts.last_durable ? facts.last_durable->step : INT64_MIN;
    if (facts.saves == saves_seen_ && durable == durable_seen_) [[likely]]
      return;
    saves_seen_ = facts.saves;
    durable_seen_ = durable;
    note(facts);
  }
  // Position of a save → train_ns up to it.
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& train_ns() const { return train_ns_; }
  // A save's step → its position, for saves and restores that only state the step.
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& data() const { return data_; }

 private:
  struct Step {
    std::int64_t step, data, train_ns;
  };
  void note(const Facts& facts);
  void settle_awaited(std::int64_t step);
  void settle(std::int64_t save_step);

  std::vector<Step> ring_;
  std::uint64_t count_ = 0;
  std::uint64_t saves_seen_ = 0;
  std::int64_t durable_seen_ = INT64_MIN;
  std::vector<std::int64_t> awaited_;  // saves of steps that have not been combined yet
  std::map<std::int64_t, std::int64_t> train_ns_;
  std::map<std::int64_t, std::int64_t> data_;
};

}  // namespace headway::timeline
