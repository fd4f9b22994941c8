#include "regress/noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headway::regress {
namespace {

constexpr double kTrim = 0.1;            // of the largest squares: changes and single bad days
constexpr double kTrimmedMean = 0.6230;  // what remains of the mean of χ²₁ without its top tenth
constexpr double kRatioFloor = 1.15;     // less cannot be told from luck in 60 days
constexpr double kPoolPairs = 120;       // how much the other strata count
constexpr double kOwnPairs = 20;         // a stratum may be restless by itself: more than so many
constexpr double kOwnExcess = 0.8;       // pairs and so much more than the others is not luck
constexpr std::size_t kWeekDays = 28;    // four weeks, before a rhythm is looked for
constexpr double kWeekF = 4.5;           // F(6, ∞) exceeds it once in 7,000 times

// On a scale on which a day's variance does not depend on its level.
struct Steady {
  std::int32_t day = 0;
  double value = 0, variance = 0;
};

std::vector<Steady> steady(const Series& series) {
  std::vector<Steady> out;
  const Law law = law_of(series.component.kind);
  for (const Cell& cell : series.cells) {
    Steady each{cell.day, 0, 0};
    if (law == Law::log_normal) {
      each.value = cell.value;
      each.variance = series.spread * series.spread / cell.n;
    } else if (law == Law::binomial) {
      each.value = 2 * std::asin(std::sqrt((cell.value + 0.375) / (cell.n + 0.75)));
      each.variance = 1 / (cell.n + 0.5);
    } else {
      each.value = 2 * std::sqrt((cell.value + 0.375) / cell.n);
      each.variance = 1 / cell.n;
    }
    out.push_back(each);
  }
  return out;
}

double trimmed_ratio(const std::vector<Steady>& days, std::size_t& pairs) {
  std::vector<double> squares;
  for (std::size_t i = 1; i < days.size(); ++i) {
    const double variance = days[i].variance + days[i - 1].variance;
    const double off = days[i].value - days[i - 1].value;
    if (variance > 0) squares.push_back(off * off / variance);
  }
  pairs = squares.size();
  const double kept = (1 - kTrim) * static_cast<double>(pairs);
  if (kept < 5) return 1;
  std::ranges::sort(squares);
  double sum = 0;
  for (std::size_t i = 0; i < pairs; ++i) {  // the last one kept counts in part
    sum += squares[i] * std::clamp(kept - static_cast<double>(i), 0.0, 1.0);
  }
  return sum / kept / kTrimmedMean;
}

// Each day against the week around it: all weekdays are in it alike, so that a level does not
// matter.
void find_week(std::vector<Steady>& days, Scatter& out) {
  struct Off {
    std::size_t weekday;
    double value;
  };
  std::vector<Off> offs;
  std::vector<double> sizes;
  for (std::size_t i = 3; i + 3 < days.size(); ++i) {
    if (days[i + 3].day - days[i - 3].day != 6) continue;
    double mean = 0;
    for (std::size_t k = i - 3; k <= i + 3; ++k) mean += days[k].value / 7;
    offs.push_back({weekday_of(days[i].day), days[i].value - mean});
    sizes.push_back(std::abs(days[i].value - mean));
  }
  if (offs.size() < kWeekDays - 6) return;
  // Clipped, so that neither a change nor a bad day looks like a rhythm.
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  const double limit = 3 * 1.4826 * *middle;
  std::array<double, 7> sum{}, count{};
  for (Off& off : offs) {
    off.value = std::clamp(off.value, -limit, limit);
    sum[off.weekday] += off.value;
    count[off.weekday] += 1;
  }
  double between = 0, within = 0, grand = 0;
  std::array<double, 7> mean{};
  for (std::size_t w = 0; w < 7; ++w) {
    if (count[w] < 2) return;
    mean[w] = sum[w] / count[w];
    between += count[w] * mean[w] * mean[w];
    grand += mean[w] / 7;
  }
  for (const Off& off : offs) within += std::pow(off.value - mean[off.weekday], 2);
  const double freedom = static_cast<double>(offs.size()) - 7;
  if (within <= 0 || between / 6 < kWeekF * within / freedom) return;
  out.weekly = true;
  for (std::size_t w = 0; w < 7; ++w) out.weekday[w] = mean[w] - grand;
  for (Steady& day : days) day.value -= out.weekday[weekday_of(day.day)];
}

}  // namespace

std::size_t weekday_of(std::int32_t day) {
  return static_cast<std::size_t>(((day % 7) + 7) % 7);
}

Scatter scatter_of(const Series& series) {
  Scatter out;
  std::vector<Steady> days = steady(series);
  // Counts keep their law: what a week does to them is left to their dispersion.
  if (law_of(series.component.kind) == Law::log_normal) find_week(days, out);
  out.ratio = trimmed_ratio(days, out.pairs);
  return out;
}

Noise noise_of(const Series& series, const Scatter& scatter, double pooled_ratio) {
  Noise out;
  out.weekday = scatter.weekday;
  const auto pairs = static_cast<double>(scatter.pairs);
  double ratio = (pairs * scatter.ratio + kPoolPairs * pooled_ratio) / (pairs + kPoolPairs);
  if (pairs >= kOwnPairs && scatter.ratio > pooled_ratio + kOwnExcess) ratio = scatter.ratio;
  if (ratio < kRatioFloor) return out;
  out.freedom = pairs + kPoolPairs / 2;
  out.dispersion = ratio;
  if (law_of(series.component.kind) != Law::log_normal || series.cells.empty()) return out;
  double variance = 0;
  for (const Cell& cell : series.cells) variance += series.spread * series.spread / cell.n;
  out.day_variance = (ratio - 1) * variance / static_cast<double>(series.cells.size());
  return out;
}

}  // namespace headway::regress
