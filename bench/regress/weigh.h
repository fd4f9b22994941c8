// Weighs detectors on the same generated series: false alarms where nothing changed, recall where
// something did. Pure but for its random numbers, which are seeded.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "regress/detectors.h"

namespace headway::bench {

struct Scenario {
  std::string name;
  double effect = 0;     // from change_day on, as a share; 0: nothing changes
  double day_noise = 0;  // standard deviation of a whole day
  double weekend = 0;    // two days of seven: that much more
  double outliers = 0;   // share of observations that are ten times as long
  double missing = 0;    // share of days without data
};

inline constexpr std::size_t days = 60;
inline constexpr std::size_t change_day = 50;   // cells from here on have the effect
inline constexpr std::size_t first_asked = 30;  // where nothing changes, asked daily from here on
inline constexpr double per_day = 200;
inline constexpr double noise = 0.1;

[[nodiscard]] regress::Series generate(const Scenario& scenario, std::uint64_t seed);

struct Outcome {
  std::vector<double> recall;  // within 1, 2, 3 days; by threshold
  double false_per_1000 = 0;   // new alarms per 1,000 series-days
};

// Scores of one detector: for each series, for each day from first_asked to the end.
using Scores = std::vector<std::vector<double>>;
[[nodiscard]] Scores scores_of(const Detector& detector,
                               const std::vector<regress::Series>& series);
// Alarms that are new: none in the seven days before.
[[nodiscard]] double false_per_1000(const Scores& scores, double threshold);
// Share of series that are called on one of the first `within` days of the change.
[[nodiscard]] double recall(const Scores& scores, double threshold, std::size_t within);
// The lowest threshold that gives at most this many.
[[nodiscard]] double calibrate(const Scores& scores, double false_per_1000_max);
// How loud two of several are together: each by how rarely it is as loud where nothing changes.
[[nodiscard]] Scores vote(const std::vector<Scores>& calm, const std::vector<Scores>& scores);

// Days as JSON lines, for detectors that are not written in C++.
void write_series(std::FILE* file, const Scenario& scenario,
                  const std::vector<regress::Series>& series, std::uint64_t seed);

}  // namespace headway::bench
