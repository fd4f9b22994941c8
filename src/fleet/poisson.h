// Counts of rare events: exact intervals of a rate, and how surprising a count is. Pure; any
// thread.
#pragma once

#include <cstdint>

#include "fleet/estimate.h"

namespace headway::fleet {

// P(N ≥ count) and P(N ≤ count) for N of Poisson(mean), mean ≥ 0.
[[nodiscard]] double poisson_at_least(std::uint64_t count, double mean);
[[nodiscard]] double poisson_at_most(std::uint64_t count, double mean);

// The means that a count does not contradict (Garwood): at the low end so many or more are seen
// once in forty times, at the high end so many or fewer.
struct PoissonRange {
  double low = 0, high = 0;
};
[[nodiscard]] PoissonRange garwood(std::uint64_t count);

// count ÷ exposure with its range. Nothing where nothing was exposed.
[[nodiscard]] Doubt poisson_rate(std::uint64_t count, double exposure);

}  // namespace headway::fleet
