#include "regress/change.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "regress/tail.h"

namespace headway::regress {
namespace {

// In a series without change the largest z over all splits of the newest weeks comes above a
// threshold anew each day this many times as often as a single z would (found by simulation for
// thresholds from 3.5 to 4: 3.7 to 5.1). It makes p a rate per day, which is what is looked at
// daily.
constexpr double kSplitsPerDay = 5;
// Likelihoods of positions that fall short of the best by less are believed: (1 - e^-x)² = 95%.
constexpr double kPositionNats = 3.68;
constexpr double kAwayNats = 5;  // e⁵: 150 times as likely to be back as not
constexpr std::size_t kChangesMax = 16;

double ratio_of(double after, double before) {
  return before > 0 ? after / before : after > 0 ? HUGE_VAL : 1;
}

}  // namespace

double Change::ratio(Law law) const {
  return law == Law::log_normal ? std::exp(after - before) : ratio_of(after, before);
}

Evidence::Evidence(const Series& series, const Noise& noise)
    : law_(law_of(series.component.kind)), dispersion_(noise.dispersion), freedom_(noise.freedom) {
  const std::size_t size = series.cells.size();
  for (auto* sums : {&weight_, &moment_, &square_, &n_, &events_}) sums->assign(size + 1, 0);
  for (std::size_t i = 0; i < size; ++i) {
    const Cell& cell = series.cells[i];
    HW_CHECK(cell.n > 0);
    days_.push_back(cell.day);
    double weight = 0, value = cell.value;
    if (law_ == Law::log_normal) {
      // A component that never varies would be infinitely sure of every change.
      constexpr double spread_min = 1e-3;
      const double spread = std::max(series.spread, spread_min);
      weight = 1 / (spread * spread / cell.n + noise.day_variance);
      value -= noise.weekday[weekday_of(cell.day)];
    }
    weight_[i + 1] = weight_[i] + weight;
    moment_[i + 1] = moment_[i] + weight * value;
    square_[i + 1] = square_[i] + weight * value * value;
    n_[i + 1] = n_[i] + cell.n;
    events_[i + 1] = events_[i] + (law_ == Law::log_normal ? cell.n : cell.value);
  }
}

double Evidence::n(std::size_t first, std::size_t last) const {
  return n_[last] - n_[first];
}

double Evidence::events(std::size_t first, std::size_t last) const {
  return events_[last] - events_[first];
}

double Evidence::level(std::size_t first, std::size_t last) const {
  HW_CHECK(first < last && last < n_.size());
  if (law_ == Law::log_normal) {
    return (moment_[last] - moment_[first]) / (weight_[last] - weight_[first]);
  }
  return events(first, last) / n(first, last);
}

double Evidence::log_likelihood_of(double events, double n, double level) const {
  // A level of 0 makes any event impossible; so near to it, all but.
  constexpr double level_min = 1e-9;
  const double safe = std::max(level, level_min);
  if (law_ == Law::poisson) return (events * std::log(safe) - n * safe) / dispersion_;
  const double rest = std::max(1 - level, level_min);
  return (events * std::log(safe) + (n - events) * std::log(rest)) / dispersion_;
}

double Evidence::log_likelihood(std::size_t first, std::size_t last, double level) const {
  if (law_ != Law::log_normal) return log_likelihood_of(events(first, last), n(first, last), level);
  const double weight = weight_[last] - weight_[first];
  const double moment = moment_[last] - moment_[first];
  const double square = square_[last] - square_[first];
  return -(square - 2 * level * moment + level * level * weight) / 2;
}

double Evidence::z(std::size_t first, std::size_t at, std::size_t last) const {
  HW_CHECK(first < at && at < last);
  const double before = level(first, at), after = level(at, last);
  if (law_ == Law::log_normal) {
    const double variance = 1 / (weight_[at] - weight_[first]) + 1 / (weight_[last] - weight_[at]);
    return (after - before) / std::sqrt(variance);
  }
  const double all = level(first, last);
  const double gain = log_likelihood(first, at, before) + log_likelihood(at, last, after) -
                      log_likelihood(first, last, all);
  return std::copysign(std::sqrt(2 * std::max(gain, 0.0)), after - before);
}

double Evidence::tail(double z) const {
  return freedom_ > 0 ? student_tail(z, freedom_) : normal_tail(z);
}

namespace {

class Search {
 public:
  Search(const Evidence& evidence, const ChangeOptions& options)
      : evidence_(evidence), options_(options) {}

  // May one ask whether [at, last) differs from [first, at)?
  [[nodiscard]] bool enough(std::size_t first, std::size_t at, std::size_t last) const {
    return at - first >= options_.before_days_min &&
           evidence_.events(first, last) >= options_.after_n_min &&
           evidence_.n(first, at) >= options_.before_n_min &&
           evidence_.n(at, last) >= options_.after_n_min;
  }

  // The split with the largest z, or |z|.
  [[nodiscard]] std::optional<std::size_t> best(std::size_t first, std::size_t last, bool rises,
                                                std::int32_t since_day) const {
    std::optional<std::size_t> out;
    double most = 0;
    for (std::size_t at = first + 1; at < last; ++at) {
      if (evidence_.day(at) < since_day || !enough(first, at, last)) continue;
      const double z = evidence_.z(first, at, last);
      const double size = rises ? z : std::abs(z);
      const bool lasting = last - at >= options_.after_days_min || size >= options_.one_day_z;
      if (lasting && size > most) {
        most = size;
        out = at;
      }
    }
    return out;
  }

  void divide(std::size_t first, std::size_t last, std::vector<std::size_t>& out) const {
    if (out.size() >= kChangesMax || last - first < 2) return;
    const auto at = best(first, last, false, evidence_.day(first));
    if (!at || std::abs(evidence_.z(first, *at, last)) < options_.split_z) return;
    divide(first, *at, out);
    out.push_back(*at);
    divide(*at, last, out);
  }

  [[nodiscard]] Change change(std::size_t first, std::size_t at, std::size_t last) const {
    Change out{first, at, last, evidence_.day(at), 0, 0, 0, 0, 0, 1};
    out.before = evidence_.level(first, at);
    out.after = evidence_.level(at, last);
    out.z = evidence_.z(first, at, last);
    out.p = std::min(1.0, kSplitsPerDay * evidence_.tail(out.z));
    const double least = out.z * out.z / 2 - kPositionNats;
    const auto likely = [&](std::size_t c) {
      const double z = evidence_.z(first, c, last);
      return z * out.z > 0 && z * z / 2 >= least;
    };
    std::size_t low = at, high = at;
    for (std::size_t c = first + 1; c < last; ++c) {
      if (!likely(c)) continue;
      low = std::min(low, c);
      high = std::max(high, c);
    }
    // It came after the last day that is surely of before: days without data are in doubt, too.
    out.low_day = evidence_.day(low - 1) + 1;
    out.high_day = evidence_.day(high);
    return out;
  }

 private:
  const Evidence& evidence_;
  const ChangeOptions& options_;
};

}  // namespace

std::vector<Change> find_changes(const Evidence& evidence, const ChangeOptions& options) {
  std::vector<Change> out;
  if (evidence.size() < 2) return out;
  const Search search(evidence, options);
  std::vector<std::size_t> splits;
  search.divide(0, evidence.size(), splits);
  const std::size_t newest = splits.empty() ? 0 : splits.back();
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : splits[i - 1];
    const std::size_t last = i + 1 == splits.size() ? evidence.size() : splits[i + 1];
    out.push_back(search.change(first, splits[i], last));
  }
  const std::int32_t fresh_day = evidence.day(evidence.size() - 1) - options.fresh_days + 1;
  if (const auto at = search.best(newest, evidence.size(), true, fresh_day)) {
    out.push_back(search.change(newest, *at, evidence.size()));
  }
  return out;
}

std::optional<Change> change_near(const Evidence& evidence, std::int32_t began_day,
                                  std::int32_t days, const ChangeOptions& options) {
  return change_between(evidence, began_day - days, began_day + days, options);
}

std::optional<Change> change_between(const Evidence& evidence, std::int32_t from_day,
                                     std::int32_t to_day, const ChangeOptions& options) {
  if (evidence.size() < 2) return std::nullopt;
  const Search search(evidence, options);
  std::vector<std::size_t> splits;
  search.divide(0, evidence.size(), splits);
  // Between the splits that are surely not this one.
  std::size_t first = 0, last = evidence.size();
  for (const std::size_t at : splits) {
    if (evidence.day(at) < from_day) first = at;
    if (evidence.day(at) > to_day) {
      last = at;
      break;
    }
  }
  std::optional<Change> out;
  for (std::size_t at = first + 1; at < last; ++at) {
    if (evidence.day(at) < from_day || evidence.day(at) > to_day) continue;
    Change each = search.change(first, at, last);
    if (!out || each.z > out->z) out = each;
  }
  return out;
}

std::optional<std::size_t> went_away(const Evidence& evidence, const Change& change) {
  const std::size_t last = evidence.size();
  std::optional<std::size_t> out;
  double most = kAwayNats;
  for (std::size_t back = change.at + 1; back < last; ++back) {
    const double after = evidence.level(change.at, back);
    if (after <= change.before) continue;
    // Against the level of all days since, not that of the worst of them: the days by which a small
    // rise is first seen are the highest of many, and those after them would always look lower.
    const double still = evidence.level(change.at, last);
    const double gain = evidence.log_likelihood(change.at, back, after) +
                        evidence.log_likelihood(back, last, change.before) -
                        evidence.log_likelihood(change.at, last, still);
    if (gain > most) {
      most = gain;
      out = back;
    }
  }
  return out;
}

}  // namespace headway::regress
