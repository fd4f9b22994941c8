// What a save really costs: the time it blocks the loop, and the time by which steps are slower
// until it is durable. The call's own duration is only the former, and an interval tuned for it
// alone can waste three times as much as need be.
//
// Told of every step and of the life of every save; a step counts as disturbed when a save was on
// its way during any part of it. Bounded memory; pure; one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "interval/cost.h"
#include "interval/recent_mean.h"

namespace headway::interval {

class SaveMeter {
 public:
  static constexpr std::size_t base_steps_max = 128;  // undisturbed ones that are remembered
  static constexpr std::size_t base_steps_min = 5;    // before there is a base to compare with
  static constexpr std::size_t open_saves_max = 16;   // beyond, a save's interference is not seen

  // A step is over. Its training time: what the loop stood still for a save, or spent on something
  // else (an evaluation), is left out.
  void step(double seconds);

  // A save has let the loop go on after blocking it. `id` is any number of its own.
  void save_begun(std::int64_t id, double blocking_s);
  // It is safe, so long after it let the loop go on.
  void save_durable(std::int64_t id, double lag_s);
  // It never will be. What it blocked still counts.
  void save_lost(std::int64_t id);
  void lose_all();

  // Median of undisturbed steps; nullopt while there are too few.
  [[nodiscard]] std::optional<double> base_step_s() const;
  // How far the last step's time lies above the base, if a save disturbed it; 0 otherwise.
  [[nodiscard]] double last_excess_s() const { return last_excess_s_; }

  [[nodiscard]] std::size_t saves() const { return blocking_.count(); }
  [[nodiscard]] std::size_t in_flight() const;
  // Of how many saves the interference is known.
  [[nodiscard]] std::size_t interference_known() const { return interference_.count(); }
  [[nodiscard]] std::size_t lags_known() const { return lag_.count(); }
  // Blocking, interference and lag of a usual save; what was never seen is 0.
  [[nodiscard]] SaveCost cost() const;

 private:
  struct Open {
    std::int64_t id = 0;
    double seconds = 0;  // its share of the steps that it disturbed
    double steps = 0;
    bool durable = false;  // the step in which that happened is the last that counts
  };
  void settle();

  std::vector<double> base_;
  std::size_t base_count_ = 0;
  std::vector<Open> open_;
  double last_excess_s_ = 0;
  RecentMean blocking_, interference_, lag_;
};

}  // namespace headway::interval
