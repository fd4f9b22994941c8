// The detector: where the level of a series changed, by likelihood ratios of all splits (the
// statistic of CUSUM), each day's variance being known from its number of observations.
// bench/regress says why this one. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "regress/noise.h"
#include "regress/series.h"

namespace headway::regress {

struct ChangeOptions {
  std::int32_t fresh_days = 28;     // how old a change may be and still be news
  std::size_t before_days_min = 7;  // with data
  double before_n_min = 20;         // observations or events
  double after_n_min = 5;
  std::size_t after_days_min = 2;  // a single bad day is no change of level …
  double one_day_z = 6;            // … unless it is beyond doubt
  double split_z = 4.5;            // from which on a change divides a series for good
};

// Sums of a series that answer any question about a range of its cells in constant time.
class Evidence {
 public:
  Evidence(const Series& series, const Noise& noise);

  [[nodiscard]] std::size_t size() const { return days_.size(); }
  [[nodiscard]] std::int32_t day(std::size_t i) const { return days_[i]; }
  // Of cells [first, last). Log-normal: mean of logarithms; else events per trial or hour.
  [[nodiscard]] double level(std::size_t first, std::size_t last) const;
  [[nodiscard]] double n(std::size_t first, std::size_t last) const;       // observations or trials
  [[nodiscard]] double events(std::size_t first, std::size_t last) const;  // log-normal: n
  // How far levels of [first, at) and [at, last) lie apart, in standard errors; > 0: it rose.
  [[nodiscard]] double z(std::size_t first, std::size_t at, std::size_t last) const;
  // Of [first, last) having this level; up to a constant, in nats.
  [[nodiscard]] double log_likelihood(std::size_t first, std::size_t last, double level) const;
  // How unlikely such a z is by chance at one split, one-sided.
  [[nodiscard]] double tail(double z) const;

 private:
  [[nodiscard]] double log_likelihood_of(double events, double n, double level) const;

  Law law_;
  double dispersion_, freedom_;
  std::vector<std::int32_t> days_;
  std::vector<double> weight_, moment_, square_, n_, events_;  // sums of all before
};

struct Change {
  std::size_t first = 0, at = 0, last = 0;  // cells: before is [first, at), after [at, last)
  std::int32_t began_day = 0;
  std::int32_t low_day = 0, high_day = 0;  // in which the change lies, with 95%
  double before = 0, after = 0;            // levels
  double z = 0;
  double p = 1;  // that a series without change raises a new alarm as loud as this on a day

  // after / before, of lengths, shares and rates alike.
  [[nodiscard]] double ratio(Law law) const;
};

// All that divide the series for good, and of what follows the last of them the likeliest rise, if
// there is data enough to ask. By time; falls are among them (z < 0).
[[nodiscard]] std::vector<Change> find_changes(const Evidence& evidence,
                                               const ChangeOptions& options);

// The likeliest rise from the first of these days to the last, however weak: what became of a
// change that is known.
[[nodiscard]] std::optional<Change> change_between(const Evidence& evidence, std::int32_t from_day,
                                                   std::int32_t to_day,
                                                   const ChangeOptions& options);
// At most so many days from `began_day`.
[[nodiscard]] std::optional<Change> change_near(const Evidence& evidence, std::int32_t began_day,
                                                std::int32_t days, const ChangeOptions& options);

// The newest data is back at the level before the change: which cell it has been since.
[[nodiscard]] std::optional<std::size_t> went_away(const Evidence& evidence, const Change& change);

}  // namespace headway::regress
