// Numbers with their doubt: 95% intervals of shares and rates, where the jobs are what was drawn.
// The attempts and days of one job are alike, so they are never taken for independent draws.
// Seconds, shares from 0 to 1. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace headway::fleet {

struct Doubt {
  std::optional<double> value, low, high;
  bool operator==(const Doubt&) const = default;
};
[[nodiscard]] Doubt scaled(const Doubt& doubt, double factor);

// The half width of a 95% interval in standard errors: Student's t; 1.96 for many. df ≥ 1.
[[nodiscard]] double t_quantile(double df);

// Degrees of freedom of a variance that was summed up from what each of `jobs` adds to it: Σ d² and
// Σ d⁴. At most one less than `alike`, the number of equal jobs that would weigh the same; fewer
// where a few jobs add most (heavy tails), by matching the variance's own variance (Satterthwaite).
[[nodiscard]] double degrees_of_freedom(double alike, double jobs, double squares, double fourths);

// A ratio of sums over jobs, Σy ÷ Σx with 0 ≤ y ≤ x: the share of device time that is effective.
// Two passes over the jobs: totals first, then each job once more. The variance is the jackknife's,
// leaving out one job at a time; the number of equal jobs that weigh the same is (Σx)² ÷ Σx²
// (Kish), so that one huge job among small ones does not pass for certainty. The interval is
// symmetric in the logit and stays inside [0, 1]. Where no job has any y (or every one has nothing
// else), nothing varies; then what is known is that so many jobs had none, and the open end is 1 −
// 0.025^(1/jobs). None with less than two jobs.
class RatioDoubt {
 public:
  RatioDoubt(double y, double x) : y_(y), x_(x), share_(x > 0 ? y / x : 0) {}
  void add(double y, double x) { add(y, x, 1 / (x_ - x)); }
  // For several shares of one x: what 1 ÷ (Σx − x) is.
  void add(double y, double x, double rest_inverse) {
    if (x <= 0) return;
    ++jobs_;
    xx_ += x * x;
    if (x_ - x <= x_ * 1e-12) {
      one_is_all_ = true;
      return;
    }
    const double without = (y_ - y) * rest_inverse - share_;
    squares_ += without * without;
    fourths_ += without * without * without * without;
  }
  [[nodiscard]] Doubt doubt() const;
  [[nodiscard]] std::optional<double> standard_error() const;

 private:
  double y_, x_, share_;
  double xx_ = 0, squares_ = 0, fourths_ = 0;
  std::uint64_t jobs_ = 0;
  bool one_is_all_ = false;
};

// The mean over jobs of each job's own share.
class MeanShareDoubt {
 public:
  void add(double share) {
    ++jobs_;
    const double step = share - mean_;
    mean_ += step / static_cast<double>(jobs_);
    squares_ += step * (share - mean_);
  }
  [[nodiscard]] Doubt doubt() const;

 private:
  double mean_ = 0, squares_ = 0;
  std::uint64_t jobs_ = 0;
};

// A share with this standard error; `draws`: for a share of 0 or 1, where nothing varies.
[[nodiscard]] Doubt share_doubt(double share, double error, double df, double draws);
// A positive number (a mean duration): symmetric in the logarithm.
[[nodiscard]] Doubt positive_doubt(double value, double error, double df);

}  // namespace headway::fleet
