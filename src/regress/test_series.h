// Series for tests, made by hand or by a seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "regress/series.h"

namespace headway::regress {

inline constexpr std::int32_t test_first_day = 20'000;

// Lengths in seconds, one day each, of `n` observations whose logarithms scatter by `spread`.
inline Series lengths(const std::vector<double>& seconds, double n = 100, double spread = 0.1) {
  Series out;
  out.component = {Kind::start, timeline::Bucket::compile_cold, {}};
  out.spread = spread;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    out.cells.push_back(
        {test_first_day + static_cast<std::int32_t>(i), n, std::log(seconds[i]), n * seconds[i]});
  }
  return out;
}

// The same with the scatter that it is said to have, around 100 s and from `at` on `factor` times
// that.
inline Series noisy(std::size_t days, std::size_t at, double factor, std::uint64_t seed,
                    double day_noise = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < days; ++i) {
    const double off = std::hypot(0.1 / std::sqrt(100.0), day_noise) * normal(random);
    seconds.push_back(100 * (i >= at ? factor : 1) * std::exp(off));
  }
  return lengths(seconds);
}

}  // namespace headway::regress
