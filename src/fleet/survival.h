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
// Only the open ones are sorted. Between two of them all that end weigh the same, and what each
// adds to the mean's doubt is a straight line in its length, so that one look at each is enough.
//
// Pure; an estimator belongs to one thread and is kept for its space.
#pragma once

#include <cstddef>
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
  // Those that are over and longer than the open ones before, up to and with the next of those.
  struct Stretch {
    double open = 0;  // so many at its end
    double over = 0, over_ns = 0;
    double at_risk = 0;  // when it begins
    double before = 1;   // the share that lasted longer than what came before
    double offset = 0;   // influence = offset + slope · length
    double risen = 0;    // influence of the open ones at its end
    [[nodiscard]] double each() const { return at_risk > 0 ? before / at_risk : 0; }
    [[nodiscard]] double after() const { return before - over * each(); }
  };
  void cut(std::span<const Lasted> all);
  void count(std::span<const Lasted> all);
  [[nodiscard]] const Stretch& stretch_of(std::size_t at) const {
    return stretches_.size() == 1 ? stretches_[0] : stretches_[places_[at]];
  }
  void set_influence(double entries);
  [[nodiscard]] Doubt mean_doubt(std::span<const Lasted> all) const;
  // The how manyth of all that are over takes the curve down to `1 − share`; none: it stays above.
  [[nodiscard]] std::optional<std::uint64_t> rank_of(double share) const;
  void set_quantiles(std::span<const Lasted> all, Durations& out);
  [[nodiscard]] double nth_s(std::uint64_t rank, std::uint64_t before);

  std::vector<std::int64_t> open_;     // lengths; sorted
  std::vector<std::int64_t> ends_;     // of stretches; each once
  std::vector<Stretch> stretches_;     // one more: the last has no end
  std::vector<std::uint32_t> places_;  // of each entry; empty: there is one stretch
  std::vector<std::uint32_t> bins_;    // those that are over, by length in coarse steps
  std::int64_t longest_ns_ = 0;
  double mean_ns_ = 0;
  std::vector<std::int64_t> scratch_;
};

}  // namespace headway::fleet
