#include "regress/tail.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace headway::regress {
namespace {

// std::lgamma writes a global; this is only asked for half-integers and counts.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr int terms_max = 300;
  const auto away = [](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1;
  double d = 1 / away(1 - (a + b) * x / (a + 1));
  double out = d;
  for (int m = 1; m <= terms_max; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    out *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    out *= c * d;
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return out;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double log_choose(double n, double k) {
  return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

}  // namespace

double normal_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

double student_tail(double t, double dof) {
  HW_CHECK(dof > 0);
  const double half = 0.5 * incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
  return t >= 0 ? half : 1 - half;
}

double fisher(const Table& table) {
  const auto before = static_cast<double>(table.before_with + table.before_without);
  const auto after = static_cast<double>(table.after_with + table.after_without);
  const auto with = static_cast<double>(table.before_with + table.after_with);
  const double all = log_choose(before + after, with);
  const auto log_p = [&](double k) {
    return log_choose(before, k) + log_choose(after, with - k) - all;
  };
  const double seen = log_p(static_cast<double>(table.before_with));
  const double low = std::max(0.0, with - after), high = std::min(before, with);
  double p = 0;
  for (double k = low; k <= high; ++k) {
    const double each = log_p(k);
    if (each <= seen + 1e-7) p += std::exp(each);
  }
  return std::min(1.0, p);
}

}  // namespace headway::regress
