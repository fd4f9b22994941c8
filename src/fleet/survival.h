// How long starts and recoveries take, when some of them are not over yet. One that still runs is
// known only to last longer than it has so far (right-censored). Leaving it out, or counting it as
// over, makes durations look shorter than they are, and most so when something hangs. So quantiles
// and means are those of the Kaplan–Meier curve. The mean is restricted to the longest duration
// seen, over or not (Efron); with nothing open it is the plain mean. A quantile that the curve does
// not come down to is not said.
//
// The interval of the mean is from its influence function, added up job by job: durations of one
// job are alike. Symmetric in the logarithm, Student's t with as many jobs as weigh the same.
//
// Pure; an estimator belongs to one thread and is kept for its space.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fleet/estimate.h"

namespace headway::fleet {

struct Lasted {
  std::int64_t ns = 0;    // 0 or more
  std::uint32_t job = 0;  // all of one job lie together
  bool over = true;
};

struct Durations {
  std::uint64_t count = 0;  // those that are over
  std::uint64_t open = 0;
  Doubt mean_s;
  std::optional<double> p50_s, p90_s;
  bool operator==(const Durations&) const = default;
};

class SurvivalEstimator {
 public:
  // None: nothing to say anything from.
  [[nodiscard]] std::optional<Durations> durations(std::span<const Lasted> all);
  // For each, how much of the mean it is: Σ weight · length = the restricted mean, Σ weight = 1.
  // Only what is over weighs, and the longest, if that is open.
  [[nodiscard]] std::vector<double> weights(std::span<const Lasted> all);

 private:
  struct Sorted {
    std::int64_t ns;
    std::uint32_t at;  // in the span
    bool over;
  };
  struct Step {  // of the curve, at one length
    std::int64_t ns;
    std::uint32_t end;     // of its entries in sorted_
    double at_risk, over;  // counts
    double before;         // the share that lasted at least so long
  };
  void sort(std::span<const Lasted> all);
  void draw();
  [[nodiscard]] std::optional<double> quantile_s(double share) const;
  void influence(double mean_ns);
  [[nodiscard]] Doubt mean_doubt(std::span<const Lasted> all, double mean_ns) const;

  std::vector<Sorted> sorted_, spare_;
  std::vector<Step> steps_;
  double left_ = 1;  // share beyond the last step
  std::vector<double> influence_;
};

}  // namespace headway::fleet
