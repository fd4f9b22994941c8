#include "fleet/survival.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace headway::fleet {

// By length. Many are sorted digit by digit, which is some five times faster than by comparing.
void SurvivalEstimator::sort(std::span<const Lasted> all) {
  constexpr std::size_t compared_max = 1024;
  constexpr int digit_bits = 11;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  HW_CHECK(all.size() < std::numeric_limits<std::uint32_t>::max());
  sorted_.clear();
  std::uint64_t any_bits = 0;
  for (const Lasted& each : all) {
    const std::int64_t ns = std::max<std::int64_t>(each.ns, 0);
    any_bits |= static_cast<std::uint64_t>(ns);
    sorted_.push_back({ns, static_cast<std::uint32_t>(sorted_.size()), each.over});
  }
  if (sorted_.size() <= compared_max) {
    std::ranges::sort(sorted_, {}, &Sorted::ns);
    return;
  }
  spare_.resize(sorted_.size());
  for (int shift = 0; shift < 64 && (any_bits >> shift) != 0; shift += digit_bits) {
    std::array<std::uint32_t, digits> place{};
    const auto digit = [&](const Sorted& each) {
      return (static_cast<std::uint64_t>(each.ns) >> shift) & (digits - 1);
    };
    for (const Sorted& each : sorted_) ++place[digit(each)];
    std::uint32_t sum = 0;
    for (std::uint32_t& each : place) sum += std::exchange(each, sum);
    for (const Sorted& each : sorted_) spare_[place[digit(each)]++] = each;
    sorted_.swap(spare_);
  }
}

void SurvivalEstimator::draw() {
  steps_.clear();
  left_ = 1;
  const auto n = static_cast<std::uint32_t>(sorted_.size());
  for (std::uint32_t i = 0; i < n;) {
    Step step{sorted_[i].ns, i, static_cast<double>(n - i), 0, left_};
    for (; step.end < n && sorted_[step.end].ns == step.ns; ++step.end) {
      step.over += sorted_[step.end].over ? 1 : 0;
    }
    i = step.end;
    left_ *= 1 - step.over / step.at_risk;
    steps_.push_back(step);
  }
}

std::optional<double> SurvivalEstimator::quantile_s(double share) const {
  for (const Step& step : steps_) {
    const double after = step.before * (1 - step.over / step.at_risk);
    if (after <= 1 - share + 1e-9) return static_cast<double>(step.ns) / 1e9;
  }
  return std::nullopt;
}

// By how much each entry moves the mean, times the number of entries:
//   −over · e(t) + Σ over steps up to t of e · over / at_risk
// where e is the area under the curve from there on, for each of those who got past the step. With
// nothing open this is exactly length − mean.
void SurvivalEstimator::influence(double mean_ns) {
  influence_.assign(sorted_.size(), 0);
  const auto n = static_cast<double>(sorted_.size());
  double area = 0, from = 0, risen = 0;
  std::uint32_t i = 0;
  for (const Step& step : steps_) {
    const auto ns = static_cast<double>(step.ns);
    area += step.before * (ns - from);
    from = ns;
    const double past = step.at_risk - step.over;
    const double rest = past > 0 ? (mean_ns - area) * n / past : 0;
    risen += rest * step.over / step.at_risk;
    for (; i < step.end; ++i) {
      influence_[sorted_[i].at] = risen - (sorted_[i].over ? rest : 0);
    }
  }
}

Doubt SurvivalEstimator::mean_doubt(std::span<const Lasted> all, double mean_ns) const {
  double jobs = 0, squares = 0, fourths = 0, sizes = 0;
  for (std::size_t i = 0; i < all.size();) {
    double sum = 0, size = 0;
    const std::uint32_t job = all[i].job;
    for (; i < all.size() && all[i].job == job; ++i) {
      sum += influence_[i];
      ++size;
    }
    ++jobs;
    squares += sum * sum;
    fourths += sum * sum * sum * sum;
    sizes += size * size;
  }
  const auto n = static_cast<double>(all.size());
  const double mean_s = mean_ns / 1e9;
  if (jobs < 2) return {mean_s, std::nullopt, std::nullopt};
  const double error_s = std::sqrt(squares * jobs / (jobs - 1)) / n * 1e-9;
  const double alike = n * n / sizes;
  return positive_doubt(mean_s, error_s, degrees_of_freedom(alike, jobs, squares, fourths));
}

std::optional<Durations> SurvivalEstimator::durations(std::span<const Lasted> all) {
  if (all.empty()) return std::nullopt;
  sort(all);
  draw();
  Durations out;
  double mean_ns = 0;
  for (const Step& step : steps_) {
    out.count += static_cast<std::uint64_t>(step.over);
    mean_ns += step.before * step.over / step.at_risk * static_cast<double>(step.ns);
  }
  out.open = all.size() - out.count;
  if (out.count == 0) return out;
  mean_ns += left_ * static_cast<double>(steps_.back().ns);
  influence(mean_ns);
  out.mean_s = mean_doubt(all, mean_ns);
  out.p50_s = quantile_s(0.5);
  out.p90_s = quantile_s(0.9);
  return out;
}

std::vector<double> SurvivalEstimator::weights(std::span<const Lasted> all) {
  std::vector<double> out(all.size(), 0.0);
  if (all.empty()) return out;
  sort(all);
  draw();
  std::uint32_t i = 0;
  for (const Step& step : steps_) {
    const double each = step.before / step.at_risk;
    for (; i < step.end; ++i) {
      if (sorted_[i].over) out[sorted_[i].at] = each;
    }
  }
  if (left_ <= 0) return out;
  // The longest are open: the rest of the curve is theirs.
  const std::uint32_t begin = steps_.size() > 1 ? steps_[steps_.size() - 2].end : 0;
  double open = 0;
  for (std::uint32_t k = begin; k < sorted_.size(); ++k) open += sorted_[k].over ? 0 : 1;
  if (open == 0) return out;
  for (std::uint32_t k = begin; k < sorted_.size(); ++k) {
    if (!sorted_[k].over) out[sorted_[k].at] = left_ / open;
  }
  return out;
}

}  // namespace headway::fleet
