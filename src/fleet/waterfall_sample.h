// What a waterfall compares: the observations of two periods (or cohorts). For Time to Start one
// observation is a start, weighted by Kaplan and Meier (survival.h), so that starts under way do
// not make the newer period look better; for ETT% one is an attempt's wall time on the chosen days.
//
// How sure a step is: the jobs are dealt into a few groups, each group is left out in turn and
// everything is reckoned anew (the delete-a-group jackknife). A job keeps its group in both
// periods, so what they share is not counted as independent. Groups depend on names, not on who
// came first.
//
// Pure; one owner.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/scan.h"
#include "fleet/waterfall.h"

namespace headway::fleet {

struct Observation {
  const Chunk* chunk = nullptr;
  std::uint32_t at = 0;
  std::uint32_t first = 0;  // of a start that is not over: the attempts it has lasted
  std::uint32_t job = 0;
  std::uint32_t stratum = 0;
  std::uint8_t side = 0;   // 0: a, 1: b
  std::uint8_t group = 0;  // of the jackknife
  bool over = true;
  double weight = 0;
  double value = 0;  // seconds or %
};

struct WaterfallSample {
  static constexpr std::size_t groups_max = 24;
  static constexpr std::size_t kParts = timeline::kBuckets + 1;  // and what is outside the wall

  std::vector<Observation> all;
  std::uint32_t groups = 0;               // below 2: no doubt can be told
  std::array<std::uint64_t, 2> counts{};  // of those that are over
  std::array<Filter, 2> filters;

  // What one observation consists of, in its unit, times its weight; they sum to its value (ETT%:
  // to 100), times its weight.
  void add_parts(const Observation& each, WaterfallMetric metric,
                 std::array<double, kParts>& to) const;

 private:
  void add_open(const Observation& each, std::array<double, kParts>& to) const;
  void add_shares(const Observation& each, std::array<double, kParts>& to) const;
};

// `stratified`: whether strata are needed.
[[nodiscard]] WaterfallSample waterfall_sample(const Snapshot& snapshot, WaterfallMetric metric,
                                               const Selection& a, const Selection& b,
                                               bool stratified);

// Standard error of a number from what it is without each group.
class Jackknife {
 public:
  explicit Jackknife(double value) : value_(value) {}
  void add(double without) {
    squares_ += (without - value_) * (without - value_);
    ++groups_;
  }
  // The interval's half width; none with less than two groups.
  [[nodiscard]] std::optional<double> half() const;

 private:
  double value_, squares_ = 0;
  std::uint32_t groups_ = 0;
};

}  // namespace headway::fleet
