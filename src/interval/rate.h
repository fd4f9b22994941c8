// How often a job fails, as far as one can know: a gamma distribution of the rate for each tier,
// begun from a prior and sharpened by failures and hours, the job's own and its family's.
//
// The prior is one failure a day seen in one day, Gamma(1, 1 day), shared out over the tiers so
// that their sum is exactly that. A family (earlier jobs of the same kind) counts at a discount,
// and for no more than family_max_s: its machines and code were not quite these.
//
// Value types; pure; any thread.
#pragma once

#include <array>

#include "interval/cost.h"

namespace headway::interval {

// Failures seen in so much time in the loop.
struct History {
  std::array<double, kTiers> failures{};
  double seconds = 0;

  double& operator[](Tier tier) { return failures[static_cast<std::size_t>(tier)]; }
  double operator[](Tier tier) const { return failures[static_cast<std::size_t>(tier)]; }
  [[nodiscard]] double total() const;
  History& operator+=(const History& other);
};

// Failures by what the next attempt began from, as far as it got to begin.
struct Answered {
  std::array<double, kTiers> staged{}, durable{};

  void add(Tier tier, Answer answer) {
    (answer == Answer::staged ? staged : durable)[static_cast<std::size_t>(tier)] += 1;
  }
  [[nodiscard]] double total(Answer answer) const;
};

struct Prior {
  double shape = 1;                                   // failures
  double seconds = 86'400;                            // in which they were seen
  std::array<double, kTiers> share{0.6, 0.35, 0.05};  // of the tiers; adds up to 1
  double family_weight = 0.5;
  static constexpr double family_max_s = 14 * 86'400.0;  // after the discount
};

// Gamma(shape, seconds) of a rate.
struct Posterior {
  double shape = 1;
  double seconds = 1;

  [[nodiscard]] double mean_per_s() const { return shape / seconds; }
  // The rate is below this with probability p.
  [[nodiscard]] double quantile_per_s(double p) const;
};

inline constexpr double kCredible = 0.9;  // of the range that is shown
struct Range {
  double lo = 0;
  double hi = 0;
};
[[nodiscard]] Range credible_range(const Posterior& posterior, double mass = kCredible);

class RateEstimate {
 public:
  explicit RateEstimate(const Prior& prior = {}, const History& family = {});

  void add(const History& own) { own_ += own; }
  void add_failure(Tier tier) { own_[tier] += 1; }
  void add_time(double seconds) { own_.seconds += seconds; }

  [[nodiscard]] const History& own() const { return own_; }
  [[nodiscard]] Posterior of(Tier tier) const;
  [[nodiscard]] Posterior all() const;
  // Means, for cost.h. With a replica, failures of a process are answered by staged state, those of
  // more than that by durable state: one of each is taken to have been so, and what was `seen`
  // corrects it.
  [[nodiscard]] Failures failures(bool replica, const Answered& seen = {}) const;

 private:
  Prior prior_;
  History family_;  // discounted
  History own_;
};

}  // namespace headway::interval
