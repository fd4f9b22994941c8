// The difference between two periods, split by mix, switches and the rest (waterfall.h has the
// words). Works on sums for each stratum and period, so that leaving out a group of jobs and
// reckoning anew costs nothing. Pure; one owner.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fleet/waterfall_sample.h"

namespace headway::fleet {

class LeverSplit {
 public:
  LeverSplit(const WaterfallSample& sample, WaterfallMetric metric);

  struct Steps {
    double a = 0, b = 0;
    std::vector<double> levers;  // one for each of levers()
    double mix = 0, appeared = 0, vanished = 0, other = 0;
  };
  // Without the jobs of one group; all of them: group = groups. A side that is empty has no value,
  // and then nothing has (false).
  [[nodiscard]] bool steps(std::uint32_t without_group, Steps& out) const;

  [[nodiscard]] const std::vector<std::uint32_t>& levers() const { return levers_; }  // ids
  // It was thrown everywhere at once: no attempts with and without it in one stratum and period.
  [[nodiscard]] bool confounded(std::size_t lever) const { return confounded_[lever]; }

 private:
  // Sums of weight, weight · value, and for each switch i and pair i ≤ k of weight where they are
  // on, and of weight · value.
  struct Layout {
    std::size_t levers = 0;
    [[nodiscard]] std::size_t on(std::size_t i) const { return 2 + i; }
    [[nodiscard]] std::size_t value(std::size_t i) const { return 2 + levers + i; }
    [[nodiscard]] std::size_t pair(std::size_t i, std::size_t k) const {
      return 2 + 2 * levers + k * (k + 1) / 2 + i;
    }
    [[nodiscard]] std::size_t size() const { return 2 + 2 * levers + levers * (levers + 1) / 2; }
  };
  using Sums = std::vector<double>;  // by stratum, then side, then layout

  void choose_levers(const WaterfallSample& sample);
  void add(const WaterfallSample& sample);
  void find_confounded();
  [[nodiscard]] std::vector<double> effects(const Sums& sums, std::array<double, 2> weight) const;
  [[nodiscard]] std::span<const double> at(const Sums& sums, std::size_t stratum,
                                           std::size_t side) const {
    return std::span(sums).subspan((stratum * 2 + side) * layout_.size(), layout_.size());
  }
  // What values are divided by in a stratum.
  [[nodiscard]] double scale(const Sums& sums, std::size_t stratum,
                             std::array<double, 2> weight) const;

  WaterfallMetric metric_;
  Layout layout_;
  std::size_t strata_ = 0;
  std::vector<std::uint32_t> levers_;
  std::vector<bool> confounded_;
  Sums all_;
  std::vector<Sums> groups_;
};

}  // namespace headway::fleet
