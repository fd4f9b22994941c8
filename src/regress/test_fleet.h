// A generated fleet for tests and benchmarks: strata of jobs that start, train, fail and recover,
// day by day, with changes put in on purpose. The same seed gives the same fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "fleet/fact.h"
#include "regress/component.h"

namespace headway::regress {

// From `day` on until `until_day`, a component's values of a stratum are multiplied. Of failures:
// how many there are; of *_often: how many starts have the stage.
struct Injected {
  std::size_t stratum = 0;
  Component component;
  std::int32_t day = 0;
  double factor = 1;
  std::int32_t until_day = 1 << 30;
  std::string torch = {};  // what the attempts of these days have in this field; "": as ever
};

struct FleetModel {
  std::uint64_t seed = 1;
  std::size_t strata = 4;
  double attempts_per_day = 200;  // of each stratum
  double noise = 0.1;             // of one observation, as a standard deviation of logarithms
  double day_noise = 0;           // of a whole day of a component of a stratum
  double weekend = 0;             // Saturdays and Sundays: that much more of every length
  double outliers = 0;            // share of observations that are ten times as long
  std::vector<Injected> changes;
  // Another mix from this day on: strata grow and shrink, and within each the slow cluster has 80%
  // of the jobs instead of 20%.
  std::int32_t mix_day = 1 << 30;
  double slow_cluster = 1;  // its hardware setup, by that of the others
  std::int32_t wave_day = 1 << 30, wave_until_day = 1 << 30;  // preemptions by ten
  std::int32_t first_day = 20'000;
};

class TestFleet {
 public:
  explicit TestFleet(FleetModel model) : model_(std::move(model)), random_(model_.seed) {}
  // Appends the attempts of the next day; of the first, first.
  void add_day(std::vector<fleet::AttemptFacts>& out);
  [[nodiscard]] std::int32_t next_day() const { return model_.first_day + day_; }
  // The last nanosecond of the newest day.
  [[nodiscard]] std::int64_t now_ns() const { return std::int64_t{next_day()} * fleet::kDayNs - 1; }
  [[nodiscard]] std::string stratum_key(std::size_t stratum) const;

  static double base_s(timeline::Bucket bucket);      // of a start's stage
  static double loop_share(timeline::Bucket bucket);  // of the loop

 private:
  void add_stratum(std::size_t stratum, std::vector<fleet::AttemptFacts>& out);
  fleet::AttemptFacts attempt(std::size_t stratum, bool recovery, const std::vector<double>& mood);
  void add_start(std::size_t stratum, fleet::AttemptFacts& facts, bool recovery, bool slow,
                 const std::vector<double>& mood);
  void add_loop(std::size_t stratum, fleet::AttemptFacts& facts, const std::vector<double>& mood);
  void add_end(std::size_t stratum, fleet::AttemptFacts& facts, const std::vector<double>& mood);
  [[nodiscard]] double factor(std::size_t stratum, const Component& component) const;
  std::int64_t noisy_ns(double seconds);
  double uniform() { return std::uniform_real_distribution<double>()(random_); }
  double preempted_share() const;

  FleetModel model_;
  std::mt19937_64 random_;
  std::int32_t day_ = 0;
};

}  // namespace headway::regress
