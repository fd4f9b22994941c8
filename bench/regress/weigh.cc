#include "regress/weigh.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/check.h"
#include "regress/noise.h"

namespace headway::bench {

using regress::Series;

Series generate(const Scenario& scenario, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<regress::DayValue> values;
  const double level = std::log(10 + 90 * uniform(random));
  for (std::size_t day = 0; day < days; ++day) {
    const double rise = day >= change_day ? std::log1p(scenario.effect) : 0;
    const double week = day % 7 >= 5 ? std::log1p(scenario.weekend) : 0;
    const double mood = scenario.day_noise * normal(random);
    if (uniform(random) < scenario.missing) continue;
    const int count = std::poisson_distribution<int>(per_day)(random);
    for (int i = 0; i < count; ++i) {
      double value = level + rise + week + mood + noise * normal(random);
      if (uniform(random) < scenario.outliers) value += std::log(10.0);
      values.push_back({static_cast<std::int32_t>(day), static_cast<float>(value)});
    }
  }
  Series series;
  series.component.kind = regress::Kind::start;
  series.cells = regress::day_means(values, series.spread);
  return series;
}

namespace {

std::size_t cells_until(const Series& series, std::size_t day) {
  std::size_t cells = 0;
  while (cells < series.cells.size() && series.cells[cells].day <= static_cast<std::int32_t>(day)) {
    ++cells;
  }
  return cells;
}

}  // namespace

Scores scores_of(const Detector& detector, const std::vector<Series>& series) {
  Scores out;
  std::vector<double> ratios;
  for (const Series& each : series) ratios.push_back(regress::scatter_of(each).ratio);
  std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
  const double pooled_ratio = ratios[ratios.size() / 2];
  for (const Series& each : series) {
    std::vector<double>& row = out.emplace_back();
    for (std::size_t day = first_asked; day < days; ++day) {
      row.push_back(detector.score(each, cells_until(each, day), pooled_ratio));
    }
  }
  return out;
}

double false_per_1000(const Scores& scores, double threshold) {
  constexpr std::size_t quiet_days = 7;
  double alarms = 0, asked = 0;
  for (const std::vector<double>& row : scores) {
    std::size_t quiet = quiet_days;
    for (const double score : row) {
      asked += 1;
      const bool loud = score >= threshold;
      if (loud && quiet >= quiet_days) alarms += 1;
      quiet = loud ? 0 : quiet + 1;
    }
  }
  return 1000 * alarms / asked;
}

double recall(const Scores& scores, double threshold, std::size_t within) {
  double found = 0;
  for (const std::vector<double>& row : scores) {
    const auto begin = row.begin() + static_cast<std::ptrdiff_t>(change_day - first_asked);
    const auto end = begin + static_cast<std::ptrdiff_t>(within);
    // An alarm that stood before the change is none of its.
    const bool early = *(begin - 1) >= threshold;
    if (!early && std::any_of(begin, end, [&](double s) { return s >= threshold; })) found += 1;
  }
  return found / static_cast<double>(scores.size());
}

double calibrate(const Scores& scores, double false_per_1000_max) {
  std::vector<double> all;
  for (const auto& row : scores) all.insert(all.end(), row.begin(), row.end());
  std::ranges::sort(all, std::greater<>());
  std::size_t low = 0, high = all.size() - 1;  // how many scores the threshold lets through
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    if (false_per_1000(scores, all[middle]) <= false_per_1000_max) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return all[low];
}

Scores vote(const std::vector<Scores>& calm, const std::vector<Scores>& scores) {
  HW_CHECK(calm.size() == scores.size() && calm.size() >= 2);
  std::vector<std::vector<double>> sorted(calm.size());
  for (std::size_t d = 0; d < calm.size(); ++d) {
    for (const auto& row : calm[d]) sorted[d].insert(sorted[d].end(), row.begin(), row.end());
    std::ranges::sort(sorted[d]);
  }
  Scores out = scores.front();
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t day = 0; day < out[i].size(); ++day) {
      std::vector<double> loud;
      for (std::size_t d = 0; d < scores.size(); ++d) {
        const auto above = sorted[d].end() -
                           std::lower_bound(sorted[d].begin(), sorted[d].end(), scores[d][i][day]);
        loud.push_back(-std::log((static_cast<double>(above) + 1) /
                                 static_cast<double>(sorted[d].size() + 1)));
      }
      std::ranges::sort(loud, std::greater<>());
      out[i][day] = loud[1] + 1e-6 * loud[0];  // the second loudest decides
    }
  }
  return out;
}

void write_series(std::FILE* file, const Scenario& scenario, const std::vector<Series>& series,
                  std::uint64_t seed) {
  for (const Series& each : series) {
    std::fprintf(file, "{\"scenario\":\"%s\",\"seed\":%llu,\"effect\":%g,\"day\":[",
                 scenario.name.c_str(), static_cast<unsigned long long>(seed), scenario.effect);
    for (std::size_t i = 0; i < each.cells.size(); ++i) {
      std::fprintf(file, "%s%d", i ? "," : "", each.cells[i].day);
    }
    std::fprintf(file, "],\"value\":[");
    for (std::size_t i = 0; i < each.cells.size(); ++i) {
      std::fprintf(file, "%s%.9g", i ? "," : "", std::exp(each.cells[i].value));
    }
    std::fprintf(file, "]}\n");
  }
}

}  // namespace headway::bench
