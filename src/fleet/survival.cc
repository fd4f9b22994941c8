#include "fleet/survival.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace headway::fleet {

namespace {

// Lengths in steps of less than 2%, exact below 64: what quantiles are looked for in first.
constexpr std::size_t kBins = 64 * 59;
std::size_t bin_of(std::int64_t ns) {
  const auto bits = static_cast<std::uint64_t>(ns);
  if (bits < 64) return bits;
  const int top = static_cast<int>(std::bit_width(bits)) - 1;
  return static_cast<std::size_t>(top - 5) * 64 + ((bits >> (top - 6)) & 63);
}

}  // namespace

// The curve: how many are over in each stretch, how much, and what each of them weighs.
void SurvivalEstimator::cut(std::span<const Lasted> all) {
  open_.clear();
  longest_ns_ = 0;
  for (const Lasted& each : all) {
    HW_CHECK(each.ns >= 0);
    longest_ns_ = std::max(longest_ns_, each.ns);
    if (!each.over) open_.push_back(each.ns);
  }
  std::ranges::sort(open_);
  ends_.clear();
  stretches_.clear();
  for (const std::int64_t ns : open_) {
    if (ends_.empty() || ends_.back() != ns) {
      ends_.push_back(ns);
      stretches_.emplace_back();
    }
    ++stretches_.back().open;
  }
  stretches_.emplace_back();
  count(all);
  auto at_risk = static_cast<double>(all.size());
  double before = 1;
  mean_ns_ = 0;
  for (Stretch& stretch : stretches_) {
    stretch.at_risk = at_risk;
    stretch.before = before;
    mean_ns_ += stretch.each() * stretch.over_ns;
    before = stretch.after();
    at_risk -= stretch.over + stretch.open;
  }
  // What the curve does not come down to ends with the longest.
  if (!open_.empty() && open_.back() == longest_ns_) {
    mean_ns_ += before * static_cast<double>(longest_ns_);
  }
}

void SurvivalEstimator::count(std::span<const Lasted> all) {
  bins_.assign(kBins, 0);
  places_.clear();
  if (ends_.empty()) {
    double over_ns = 0;
    for (const Lasted& each : all) {
      over_ns += static_cast<double>(each.ns);
      ++bins_[bin_of(each.ns)];
    }
    stretches_[0].over = static_cast<double>(all.size());
    stretches_[0].over_ns = over_ns;
    return;
  }
  for (const Lasted& each : all) {
    // One that ends when an open one was last seen ended before it.
    const auto place =
        static_cast<std::size_t>(std::ranges::lower_bound(ends_, each.ns) - ends_.begin());
    places_.push_back(static_cast<std::uint32_t>(place));
    if (!each.over) continue;
    stretches_[place].over += 1;
    stretches_[place].over_ns += static_cast<double>(each.ns);
    ++bins_[bin_of(each.ns)];
  }
}

// The influence of what ends at t is R(t) − A(t) · n ÷ at_risk after t, where A is the area under
// the curve from t on and R what those who were at risk have gained so far; of what is open at t,
// R(t). Along a stretch the former rises by before · n ÷ at_risk, evenly. With nothing open it is
// length − mean.
void SurvivalEstimator::set_influence(double entries) {
  double offset = -mean_ns_;  // at length 0, R is 0 and A the mean
  double area = 0;            // of what is over, weighted, up to here
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    Stretch& stretch = stretches_[i];
    stretch.offset = offset;
    if (i + 1 == stretches_.size()) break;
    const auto to = static_cast<double>(ends_[i]);
    area += stretch.each() * stretch.over_ns;
    const double rest = mean_ns_ - area - stretch.after() * to;
    const double here = stretch.at_risk - stretch.over;  // at risk, the open ones included
    const double slope = stretch.each() * entries;
    stretch.risen = offset + slope * to + rest * entries / here;
    const Stretch& next = stretches_[i + 1];
    if (next.at_risk <= 0) break;
    offset = stretch.risen - rest * entries / next.at_risk - next.each() * entries * to;
  }
}

Doubt SurvivalEstimator::mean_doubt(std::span<const Lasted> all) const {
  const auto n = static_cast<double>(all.size());
  double jobs = 0, squares = 0, fourths = 0, sizes = 0;
  for (std::size_t i = 0; i < all.size();) {
    double sum = 0, size = 0;
    const std::uint32_t job = all[i].job;
    for (; i < all.size() && all[i].job == job; ++i) {
      const Stretch& stretch = stretch_of(i);
      sum += all[i].over ? stretch.offset + stretch.each() * n * static_cast<double>(all[i].ns)
                         : stretch.risen;
      ++size;
    }
    ++jobs;
    squares += sum * sum;
    fourths += sum * sum * sum * sum;
    sizes += size * size;
  }
  const double mean_s = mean_ns_ / 1e9;
  if (jobs < 2) return {mean_s, std::nullopt, std::nullopt};
  const double error_s = std::sqrt(squares * jobs / (jobs - 1)) / n * 1e-9;
  const double alike = n * n / sizes;
  return positive_doubt(mean_s, error_s, degrees_of_freedom(alike, jobs, squares, fourths));
}

std::optional<std::uint64_t> SurvivalEstimator::rank_of(double share) const {
  const double wanted = 1 - share + 1e-9;
  double passed = 0;
  for (const Stretch& each : stretches_) {
    if (each.over > 0 && each.after() <= wanted) {
      const double steps = std::ceil((each.before - wanted) / each.each());
      return static_cast<std::uint64_t>(passed + std::clamp(steps, 1.0, each.over)) - 1;
    }
    passed += each.over;
  }
  return std::nullopt;
}

// The entry of that rank among those in scratch_, which all have `before` smaller ones.
double SurvivalEstimator::nth_s(std::uint64_t rank, std::uint64_t before) {
  HW_CHECK(rank >= before && rank - before < scratch_.size());
  const auto nth = scratch_.begin() + static_cast<std::ptrdiff_t>(rank - before);
  std::nth_element(scratch_.begin(), nth, scratch_.end());
  return static_cast<double>(*nth) / 1e9;
}

void SurvivalEstimator::set_quantiles(std::span<const Lasted> all, Durations& out) {
  for (const auto& [share, field] : {std::pair(0.5, &out.p50_s), std::pair(0.9, &out.p90_s)}) {
    const auto rank = rank_of(share);
    if (!rank) continue;
    std::uint64_t before = 0;
    std::size_t bin = 0;
    while (before + bins_[bin] <= *rank) before += bins_[bin++];
    scratch_.clear();
    for (const Lasted& each : all) {
      if (each.over && bin_of(each.ns) == bin) scratch_.push_back(each.ns);
    }
    *field = nth_s(*rank, before);
  }
}

std::optional<Durations> SurvivalEstimator::durations(std::span<const Lasted> all) {
  if (all.empty()) return std::nullopt;
  cut(all);
  Durations out;
  out.open = open_.size();
  out.count = all.size() - out.open;
  if (out.count == 0) return out;
  set_influence(static_cast<double>(all.size()));
  out.mean_s = mean_doubt(all);
  set_quantiles(all, out);
  return out;
}

std::vector<double> SurvivalEstimator::weights(std::span<const Lasted> all) {
  std::vector<double> out(all.size(), 0.0);
  if (all.empty()) return out;
  cut(all);
  const bool ends_open = !open_.empty() && open_.back() == longest_ns_;
  const Stretch& last = stretches_[stretches_.size() - (ends_open ? 2 : 1)];
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].over) {
      out[i] = stretch_of(i).each();
    } else if (ends_open && all[i].ns == longest_ns_) {
      out[i] = last.after() / last.open;
    }
  }
  return out;
}

}  // namespace headway::fleet
