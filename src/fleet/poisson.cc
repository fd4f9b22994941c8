#include "fleet/poisson.h"

#include <math.h>

#include <algorithm>
#include <cmath>

namespace headway::fleet {
namespace {

constexpr double kTail = 0.025;
// Beyond so many events the cube of a normal is right to more digits than are shown.
constexpr std::uint64_t exact_max = 100'000;

double log_probability(double count, double mean) {
  int sign = 0;  // lgamma itself would write a global
  return count * std::log(mean) - mean - ::lgamma_r(count + 1, &sign);
}

// Σ of probabilities from `count` upwards (or downwards), relative to that of `count`: the terms
// fall off within some ten standard deviations.
double sum_up(double count, double mean) {
  double term = 1, sum = 1;
  for (double k = count + 1; term > sum * 1e-17; ++k) {
    term *= mean / k;
    sum += term;
  }
  return sum;
}

double sum_down(double count, double mean) {
  double term = 1, sum = 1;
  for (double k = count; k > 0 && term > sum * 1e-17; --k) {
    term *= k / mean;
    sum += term;
  }
  return sum;
}

// Wilson and Hilferty: the mean at which the tail beyond `shape` events has probability 0.025.
double cubed(double shape, double z) {
  const double spread = 1 / (9 * shape);
  const double root = 1 - spread + z * std::sqrt(spread);
  return shape * std::max(0.0, root * root * root);
}

}  // namespace

double poisson_at_least(std::uint64_t count, double mean) {
  if (count == 0) return 1;
  if (mean <= 0) return 0;
  const auto n = static_cast<double>(count);
  if (n > mean) return std::min(1.0, std::exp(log_probability(n, mean)) * sum_up(n, mean));
  return std::max(0.0, 1 - std::exp(log_probability(n - 1, mean)) * sum_down(n - 1, mean));
}

double poisson_at_most(std::uint64_t count, double mean) {
  if (mean <= 0) return 1;
  const auto n = static_cast<double>(count);
  if (n < mean) return std::min(1.0, std::exp(log_probability(n, mean)) * sum_down(n, mean));
  return std::max(0.0, 1 - std::exp(log_probability(n + 1, mean)) * sum_up(n + 1, mean));
}

PoissonRange garwood(std::uint64_t count) {
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(count);
  PoissonRange range{count == 0 ? 0 : cubed(n, -z), cubed(n + 1, z)};
  if (count > exact_max) return range;
  // Newton's steps from there; a tail's slope is the probability of the count at its edge.
  constexpr int steps_max = 30;
  for (int i = 0; count > 0 && i < steps_max; ++i) {
    const double low = std::max(range.low, 1e-9);
    const double step =
        (poisson_at_least(count, low) - kTail) / std::exp(log_probability(n - 1, low));
    range.low = std::clamp(low - step, low / 8, low * 8);
    if (std::abs(range.low - low) < 1e-10 * low) break;
  }
  for (int i = 0; i < steps_max; ++i) {
    const double high = range.high;
    const double step = (poisson_at_most(count, high) - kTail) / std::exp(log_probability(n, high));
    range.high = std::clamp(high + step, high / 8, high * 8);
    if (std::abs(range.high - high) < 1e-10 * high) break;
  }
  return range;
}

Doubt poisson_rate(std::uint64_t count, double exposure) {
  if (exposure <= 0) return {};
  const PoissonRange range = garwood(count);
  return {static_cast<double>(count) / exposure, range.low / exposure, range.high / exposure};
}

}  // namespace headway::fleet
