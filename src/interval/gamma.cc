#include "interval/gamma.h"

#include <math.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headway::interval {
namespace {

constexpr double kEpsilon = 1e-15;
constexpr int terms_max = 100'000;
// From here on a cube of a normal is exact to more digits than a rate deserves (Wilson, Hilferty),
// and the series below would grow long.
constexpr double kLargeShape = 1e6;

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// x^shape · e^−x / Γ(shape)
double front(double shape, double x) {
  return std::exp(shape * std::log(x) - x - log_gamma(shape));
}

// Σ x^n / (shape·(shape + 1)…(shape + n)): quick while x is not much above the shape.
double lower_series(double shape, double x) {
  double term = 1 / shape;
  double sum = term;
  for (int n = 1; n < terms_max; ++n) {
    term *= x / (shape + n);
    sum += term;
    if (term < sum * kEpsilon) break;
  }
  return sum * front(shape, x);
}

// The upper tail as Legendre's continued fraction
//   1/(x + 1 − s − 1·(1 − s)/(x + 3 − s − 2·(2 − s)/(x + 5 − s − …))),
// worked from the front by keeping the ratios of successive numerators and denominators.
double upper_fraction(double shape, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - shape;
  double numerator = 1 / kTiny;
  double denominator = 1 / b;
  double value = denominator;
  for (int n = 1; n < terms_max; ++n) {
    const double a = n * (shape - n);
    b += 2;
    denominator = a * denominator + b;
    numerator = b + a / numerator;
    if (std::abs(denominator) < kTiny) denominator = kTiny;
    if (std::abs(numerator) < kTiny) numerator = kTiny;
    denominator = 1 / denominator;
    const double ratio = numerator * denominator;
    value *= ratio;
    if (std::abs(ratio - 1) < kEpsilon) break;
  }
  return value * front(shape, x);
}

double normal_cdf(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

}  // namespace

double gamma_cdf(double shape, double x) {
  if (x <= 0) return 0;
  if (shape > kLargeShape) {
    const double spread = 1 / (9 * shape);
    return normal_cdf((std::cbrt(x / shape) - 1 + spread) / std::sqrt(spread));
  }
  const double p = x < shape + 1 ? lower_series(shape, x) : 1 - upper_fraction(shape, x);
  return std::clamp(p, 0.0, 1.0);
}

double gamma_quantile(double shape, double p) {
  // gamma_cdf(x) ≤ x^shape / Γ(shape + 1), so that this x is not above the one looked for.
  const double log_lo = (std::log(p) + log_gamma(shape + 1)) / shape;
  double lo = std::exp(log_lo);
  if (lo < std::numeric_limits<double>::min()) {
    if (gamma_cdf(shape, std::numeric_limits<double>::min()) >= p) return 0;
    lo = std::numeric_limits<double>::min();
  }
  double hi = std::max(2 * lo, shape);
  while (gamma_cdf(shape, hi) < p) hi *= 2;
  // By halves of the ratio: shapes far below 1 spread over hundreds of powers of ten.
  for (int i = 0; i < 200 && hi > lo * (1 + 1e-12); ++i) {
    const double middle = std::sqrt(lo) * std::sqrt(hi);
    (gamma_cdf(shape, middle) < p ? lo : hi) = middle;
  }
  return std::sqrt(lo) * std::sqrt(hi);
}

}  // namespace headway::interval
