#include "regress/detectors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "regress/change.h"
#include "regress/noise.h"
#include "regress/tail.h"

namespace headway::bench {
namespace {

using regress::Cell;
using regress::Series;

Series first_days(const Series& series, std::size_t days) {
  Series out = series;
  out.cells.resize(std::min(days, out.cells.size()));
  return out;
}

regress::Noise noise(const Series& seen, double pooled_ratio) {
  return regress::noise_of(seen, regress::scatter_of(seen), pooled_ratio);
}

// Days without their week's rhythm, and how well each is known.
struct Normal {
  double value, variance;
};
std::vector<Normal> normal_days(const Series& series, std::size_t days, double pooled_ratio) {
  const Series seen = first_days(series, days);
  const regress::Noise around = noise(seen, pooled_ratio);
  std::vector<Normal> out;
  for (const Cell& cell : seen.cells) {
    out.push_back({cell.value - around.weekday[regress::weekday_of(cell.day)],
                   seen.spread * seen.spread / cell.n + around.day_variance});
  }
  return out;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

// Logarithm of 1/p of Student's two-sample test, one-sided; its sign is that of the rise.
double t_test(std::span<const double> before, std::span<const double> after) {
  const double freedom = static_cast<double>(before.size() + after.size()) - 2;
  if (freedom < 1) return 0;
  const double variance = (squares_of(before) + squares_of(after)) / freedom;
  const double scale = std::sqrt(variance * (1.0 / static_cast<double>(before.size()) +
                                             1.0 / static_cast<double>(after.size())));
  if (scale <= 0) return 0;
  const double t = (mean_of(after) - mean_of(before)) / scale;
  const double p = std::max(regress::student_tail(std::abs(t), freedom), 1e-300);
  return std::copysign(-std::log10(p), t);
}

// The split of [first, last) with the greatest energy statistic.
std::size_t energy_split(std::span<const double> values, std::size_t first, std::size_t last) {
  const std::size_t n = last - first;
  const auto apart = [&](std::size_t i, std::size_t k) {
    return std::abs(values[first + i] - values[first + k]);
  };
  double within_after = 0, within_before = 0, between = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = i + 1; k < n; ++k) within_after += apart(i, k);
  }
  std::size_t best = first;
  double most = 0;
  for (std::size_t at = 1; at < n; ++at) {  // cell at - 1 changes sides
    double to_before = 0, to_after = 0;
    for (std::size_t k = 0; k < at - 1; ++k) to_before += apart(at - 1, k);
    for (std::size_t k = at; k < n; ++k) to_after += apart(at - 1, k);
    within_before += to_before;
    within_after -= to_after;
    between += to_after - to_before;
    const auto a = static_cast<double>(at), b = static_cast<double>(n - at);
    const double energy = 2 * between / (a * b) - (at > 1 ? within_before / (a * (a - 1) / 2) : 0) -
                          (n - at > 1 ? within_after / (b * (b - 1) / 2) : 0);
    const double q = a * b / (a + b) * energy;
    if (q > most) {
      most = q;
      best = first + at;
    }
  }
  return best;
}

}  // namespace

double likelihood_ratio(const Series& series, std::size_t days, double pooled_ratio) {
  const Series seen = first_days(series, days);
  const regress::Evidence evidence(seen, noise(seen, pooled_ratio));
  double best = silent;
  for (const regress::Change& change : regress::find_changes(evidence, {})) {
    if (change.z <= 0 || change.at + fresh_days < seen.cells.size()) continue;
    if (regress::went_away(evidence, change)) continue;
    best = std::max(best, -std::log10(std::max(change.p, 1e-300)));
  }
  return best;
}

double page_cusum(const Series& series, std::size_t days, double pooled_ratio) {
  const std::size_t learnt = std::min<std::size_t>(28, days / 2);
  if (learnt < 7) return silent;
  const std::vector<Normal> normal = normal_days(series, days, pooled_ratio);
  double mean = 0;
  for (std::size_t i = 0; i < learnt; ++i) mean += normal[i].value / static_cast<double>(learnt);
  constexpr double allowance = 1;  // half of the rise that is looked for, in standard deviations
  double sum = 0;
  for (std::size_t i = learnt; i < days; ++i) {
    sum = std::max(0.0, sum + (normal[i].value - mean) / std::sqrt(normal[i].variance) - allowance);
  }
  return sum;
}

double e_divisive(const Series& series, std::size_t days, double /*pooled_ratio*/) {
  std::vector<double> values;
  for (std::size_t i = 0; i < days; ++i) values.push_back(series.cells[i].value);
  constexpr double accepted = 3;  // p of 0.001 divides for good
  double best = silent;
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, days}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    if (last - first < 4) continue;
    const std::size_t at = energy_split(values, first, last);
    if (at == first) continue;
    const std::span<const double> all(values);
    const double loud = t_test(all.subspan(first, at - first), all.subspan(at, last - at));
    if (at + fresh_days >= days) best = std::max(best, loud);
    if (std::abs(loud) < accepted) continue;
    open.emplace_back(first, at);
    open.emplace_back(at, last);
  }
  return best;
}

double bayesian_online(const Series& series, std::size_t days, double pooled_ratio) {
  constexpr double hazard = 1.0 / 100;
  constexpr double prior_sigma = 0.1;  // of a new level around the old one
  const std::vector<Normal> normal = normal_days(series, days, pooled_ratio);
  const double start = normal.front().value;
  struct Run {
    double weight, mean, variance;
  };
  std::vector<Run> runs = {{1, start, prior_sigma * prior_sigma}};  // by length: 0, 1, …
  for (std::size_t i = 0; i < days; ++i) {
    std::vector<Run> next(runs.size() + 1, Run{0, 0, 0});
    double changed = 0, total = 0, mean = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const Run& run = runs[r];
      const double variance = run.variance + normal[i].variance;
      const double off = normal[i].value - run.mean;
      const double seen = run.weight * std::exp(-off * off / (2 * variance)) / std::sqrt(variance);
      const double gain = run.variance / variance;
      next[r + 1] = {seen * (1 - hazard), run.mean + gain * off, run.variance * (1 - gain)};
      changed += seen * hazard;
      total += seen;
      mean += run.weight * run.mean;
    }
    next[0] = {changed, mean, prior_sigma * prior_sigma};
    for (Run& run : next) run.weight = total > 0 ? run.weight / total : 0;
    runs = std::move(next);
  }
  // Runs that began lately, and lie above what they followed.
  double rise = 0;
  const std::size_t recent = std::min(runs.size(), fresh_days + 1);
  for (std::size_t r = 1; r < recent && r < days; ++r) {
    double before = 0;
    for (std::size_t i = 0; i < days - r; ++i) {
      before += normal[i].value / static_cast<double>(days - r);
    }
    if (runs[r].mean > before) rise += runs[r].weight;
  }
  return std::log10(std::max(rise, 1e-300)) - std::log10(std::max(1 - rise, 1e-16));
}

std::vector<Detector> detectors() {
  return {{"likelihood ratio", likelihood_ratio},
          {"Page's CUSUM", page_cusum},
          {"E-divisive + t", e_divisive},
          {"BOCD", bayesian_online}};
}

}  // namespace headway::bench
