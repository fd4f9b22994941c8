#include <algorithm>
#include <cmath>

#include "regress/series.h"

namespace headway::regress {
namespace {

constexpr double kClip = 2.5;           // spreads from the day's median; costs 1% of precision
constexpr std::size_t kWithinMin = 30;  // residuals by which a spread is known from days alone
constexpr double kMadToSigma = 1.4826;

double median(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (static_cast<double>(*middle) + *std::max_element(values.begin(), middle)) / 2;
}

struct Day {
  std::size_t first = 0, last = 0;
  double middle = 0;
};

// From the scatter within days; where days hold too few, from that between neighbouring days.
double rough_spread(const std::vector<DayValue>& values, const std::vector<Day>& days) {
  std::vector<float> off;
  double small = 0;  // the median of few is drawn to them: what their residuals lack
  for (const Day& day : days) {
    if (day.last - day.first < 3) continue;
    for (std::size_t i = day.first; i < day.last; ++i) {
      off.push_back(static_cast<float>(std::abs(values[i].value - day.middle)));
    }
    small += 1;
  }
  if (off.size() >= kWithinMin) {
    const double lack = std::sqrt(1 - std::min(0.5, small / static_cast<double>(off.size())));
    return kMadToSigma * median(off) / lack;
  }
  off.clear();
  for (std::size_t i = 1; i < days.size(); ++i) {
    const double n = static_cast<double>(days[i].last - days[i].first);
    const double n_before = static_cast<double>(days[i - 1].last - days[i - 1].first);
    const double apart = std::abs(days[i].middle - days[i - 1].middle);
    off.push_back(static_cast<float>(apart / std::sqrt(1 / n + 1 / n_before)));
  }
  return off.empty() ? 0 : kMadToSigma * median(off);
}

}  // namespace

std::vector<Cell> day_means(std::vector<DayValue>& values, double& spread) {
  // Facts come nearly in the order of their days.
  if (!std::ranges::is_sorted(values, {}, &DayValue::day)) {
    std::ranges::stable_sort(values, {}, &DayValue::day);
  }
  std::vector<Day> days;
  std::vector<float> own;
  for (std::size_t i = 0; i < values.size();) {
    Day& day = days.emplace_back(Day{i, i, 0});
    own.clear();
    while (day.last < values.size() && values[day.last].day == values[i].day) {
      own.push_back(values[day.last++].value);
    }
    day.middle = median(own);
    i = day.last;
  }
  const double rough = rough_spread(values, days);
  const double limit = kClip * rough;
  std::vector<Cell> cells;
  double squares = 0, freedom = 0;
  for (const Day& day : days) {
    double sum = 0, square = 0;
    const auto n = static_cast<double>(day.last - day.first);
    for (std::size_t i = day.first; i < day.last; ++i) {
      const double off = std::clamp(values[i].value - day.middle, -limit, limit);
      sum += off;
      square += off * off;
    }
    cells.push_back({values[day.first].day, n, day.middle + sum / n, 0});
    squares += square - sum * sum / n;
    freedom += n - 1;
  }
  spread = freedom >= static_cast<double>(kWithinMin) ? std::sqrt(squares / freedom) : rough;
  return cells;
}

}  // namespace headway::regress
