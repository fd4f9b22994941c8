#include "fleet/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace headway::fleet {
namespace {

// The open end of a share that was 0 in every one of so many draws.
double none_seen(double draws) {
  return 1 - std::pow(0.025, 1 / draws);
}

}  // namespace

Doubt scaled(const Doubt& doubt, double factor) {
  HW_CHECK(factor > 0);
  const auto times = [&](std::optional<double> x) { return x ? std::optional(*x * factor) : x; };
  return {times(doubt.value), times(doubt.low), times(doubt.high)};
}

double t_quantile(double df) {
  // Exact for whole numbers up to 10, straight in 1/df between them; from there on the normal's
  // quantile and the first terms of Cornish and Fisher, right to four digits.
  constexpr std::array<double, 10> kExact = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                             2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
  df = std::max(df, 1.0);
  if (df < 10) {
    const auto below = static_cast<std::size_t>(df);
    const double at = (1 / static_cast<double>(below) - 1 / df) /
                      (1 / static_cast<double>(below) - 1 / static_cast<double>(below + 1));
    return kExact[below - 1] + at * (kExact[below] - kExact[below - 1]);
  }
  constexpr double z = 1.959963984540054;
  constexpr double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df * df * df);
}

double degrees_of_freedom(double alike, double jobs, double squares, double fourths) {
  const double spread = fourths - squares * squares / jobs;
  double df = alike - 1;
  if (spread > 0) df = std::min(df, 2 * squares * squares / spread);
  return std::max(df, 1.0);
}

Doubt share_doubt(double share, double error, double df, double draws) {
  share = std::clamp(share, 0.0, 1.0);
  constexpr double kEdge = 1e-12;
  if (share <= kEdge) return {share, 0.0, std::max(share, none_seen(draws))};
  if (share >= 1 - kEdge) return {share, std::min(share, 1 - none_seen(draws)), 1.0};
  const double logit = std::log(share / (1 - share));
  const double half = t_quantile(df) * error / (share * (1 - share));
  const auto back = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {share, std::min(share, back(logit - half)), std::max(share, back(logit + half))};
}

Doubt positive_doubt(double value, double error, double df) {
  if (value <= 0 || df < 1) return {value, std::nullopt, std::nullopt};
  const double factor = std::exp(t_quantile(df) * error / value);
  return {value, value / factor, value * factor};
}

std::optional<double> RatioDoubt::standard_error() const {
  if (jobs_ < 2 || one_is_all_) return std::nullopt;
  const auto n = static_cast<double>(jobs_);
  return std::sqrt(squares_ * (n - 1) / n);
}

Doubt RatioDoubt::doubt() const {
  if (x_ <= 0) return {};
  const double share = std::clamp(y_ / x_, 0.0, 1.0);
  const auto error = standard_error();
  if (!error) return {share, std::nullopt, std::nullopt};
  const double alike = x_ * x_ / xx_;
  const double df = degrees_of_freedom(alike, static_cast<double>(jobs_), squares_, fourths_);
  return share_doubt(share, *error, df, alike);
}

Doubt MeanShareDoubt::doubt() const {
  if (jobs_ == 0) return {};
  if (jobs_ < 2) return {mean_, std::nullopt, std::nullopt};
  const auto n = static_cast<double>(jobs_);
  return share_doubt(mean_, std::sqrt(squares_ / (n - 1) / n), n - 1, n);
}

}  // namespace headway::fleet
