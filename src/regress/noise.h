// What a series does from day to day while nothing has changed: scatter beyond that of single
// observations, and a week's rhythm. Without it, every fleet whose days differ a little would be
// full of alarms. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>

#include "regress/series.h"

namespace headway::regress {

// As one series shows it.
struct Scatter {
  // How much larger differences between neighbouring days are, as variances, than their numbers of
  // observations explain. 1: they explain all.
  double ratio = 1;
  std::size_t pairs = 0;
  bool weekly = false;
  std::array<double, 7> weekday{};  // to be subtracted from a day's value; 0 where not weekly
};
[[nodiscard]] Scatter scatter_of(const Series& series);

// What a detector goes by.
struct Noise {
  double day_variance = 0;  // log-normal: of a day's mean, beside spread² / n
  double dispersion = 1;    // of counts: their variance by the law's; ≥ 1
  double freedom = 0;       // days that the two above are known from; 0: there was nothing to add
  std::array<double, 7> weekday{};
};
// `pooled_ratio`: that of the same component in all strata, which steadies what one series shows.
[[nodiscard]] Noise noise_of(const Series& series, const Scatter& scatter, double pooled_ratio);

[[nodiscard]] std::size_t weekday_of(std::int32_t day);

}  // namespace headway::regress
