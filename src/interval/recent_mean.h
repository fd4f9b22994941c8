// The middle half of the last few values, averaged: what a save usually costs, whatever the first
// one (page faults) or one beside a busy disk did. Bounded; one owner.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace headway::interval {

class RecentMean {
 public:
  static constexpr std::size_t values_max = 16;

  void add(double value) {
    values_[count_ % values_max] = value;
    ++count_;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t count() const { return count_; }
  // 0 when empty. Up to three values all count.
  [[nodiscard]] double value() const {
    const std::size_t n = std::min(count_, values_max);
    if (n == 0) return 0;
    std::array<double, values_max> sorted = values_;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
    const std::size_t cut = n / 4;
    double sum = 0;
    for (std::size_t i = cut; i < n - cut; ++i) sum += sorted[i];
    return sum / static_cast<double>(n - 2 * cut);
  }

 private:
  std::array<double, values_max> values_{};
  std::size_t count_ = 0;
};

}  // namespace headway::interval
