// Detectors of a change of level, side by side: the one that Headway uses, and those that were
// weighed against it. Each looks at the days of a series up to today and says how loudly it would
// call a recent rise; a threshold makes alarms of that. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "regress/series.h"

namespace headway::bench {

// How loud: the larger, the surer of a rise within the newest `fresh_days` days. `pooled_ratio` is
// what is known of the scatter between days from all series (regress/noise.h).
using Score = double (*)(const regress::Series& series, std::size_t days, double pooled_ratio);

struct Detector {
  std::string name;
  Score score;
};

inline constexpr std::size_t fresh_days = 28;
inline constexpr double silent = -1e9;

// Headway's: likelihood ratios of all splits (CUSUM's statistic), known variances.
double likelihood_ratio(const regress::Series& series, std::size_t days, double pooled_ratio);
// Page's CUSUM against the mean of the first four weeks; tuned to a rise of two standard
// deviations; with Headway's model of noise.
double page_cusum(const regress::Series& series, std::size_t days, double pooled_ratio);
// E-divisive: energy distance bisects, Student's t judges, as Hunter and Apache Otava do.
double e_divisive(const regress::Series& series, std::size_t days, double pooled_ratio);
// Bayesian online change point detection (Adams and MacKay), normal days, Headway's model of noise.
double bayesian_online(const regress::Series& series, std::size_t days, double pooled_ratio);

[[nodiscard]] std::vector<Detector> detectors();

}  // namespace headway::bench
