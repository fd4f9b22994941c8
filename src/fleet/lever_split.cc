#include "fleet/lever_split.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace headway::fleet {
namespace {

// A·x = b for a symmetric A that is positive once a ridge is on it (Cholesky). In place.
std::vector<double> solve(std::vector<double> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      double sum = a[k * n + i];
      for (std::size_t j = 0; j < i; ++j) sum -= a[k * n + j] * a[i * n + j];
      a[k * n + i] = sum / a[i * n + i];
    }
    double rest = a[k * n + k];
    for (std::size_t j = 0; j < k; ++j) rest -= a[k * n + j] * a[k * n + j];
    a[k * n + k] = std::sqrt(std::max(rest, 1e-300));
    for (std::size_t j = 0; j < k; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[j * n + k] * b[j];
    b[k] /= a[k * n + k];
  }
  return b;
}

}  // namespace

LeverSplit::LeverSplit(const WaterfallSample& sample, WaterfallMetric metric) : metric_(metric) {
  for (const Observation& each : sample.all) {
    strata_ = std::max<std::size_t>(strata_, each.stratum + 1);
  }
  choose_levers(sample);
  layout_.levers = levers_.size();
  all_.assign(strata_ * 2 * layout_.size(), 0);
  groups_.assign(sample.groups, all_);
  add(sample);
  find_confounded();
}

// Those whose adoption changed most.
void LeverSplit::choose_levers(const WaterfallSample& sample) {
  std::array<std::array<double, 64>, 2> on{};
  std::array<double, 2> weight{};
  for (const Observation& each : sample.all) {
    weight[each.side] += each.weight;
    for (std::uint64_t left = each.chunk->levers[each.at]; left != 0; left &= left - 1) {
      on[each.side][static_cast<std::size_t>(std::countr_zero(left))] += each.weight;
    }
  }
  if (weight[0] <= 0 || weight[1] <= 0) return;
  std::vector<std::pair<double, std::uint32_t>> changes;
  for (std::uint32_t i = 0; i < 64; ++i) {
    const double a = on[0][i] / weight[0], b = on[1][i] / weight[1];
    if (a > 0 || b > 0) changes.emplace_back(-std::abs(b - a), i);
  }
  std::ranges::sort(changes);
  if (changes.size() > waterfall_levers_max) changes.resize(waterfall_levers_max);
  for (const auto& [change, lever] : changes) levers_.push_back(lever);
  std::ranges::sort(levers_);  // so that those of an attempt come in order
}

void LeverSplit::add(const WaterfallSample& sample) {
  std::array<std::uint8_t, 64> place{};
  std::uint64_t chosen = 0;
  for (std::size_t i = 0; i < levers_.size(); ++i) {
    place[levers_[i]] = static_cast<std::uint8_t>(i);
    chosen |= std::uint64_t{1} << levers_[i];
  }
  std::array<std::size_t, 64> on{};
  for (const Observation& each : sample.all) {
    double* sums = groups_[each.group].data() + (each.stratum * 2 + each.side) * layout_.size();
    const double moment = each.weight * each.value;
    sums[0] += each.weight;
    sums[1] += moment;
    std::size_t count = 0;
    for (std::uint64_t left = each.chunk->levers[each.at] & chosen; left != 0; left &= left - 1) {
      on[count++] = place[static_cast<std::size_t>(std::countr_zero(left))];
    }
    for (std::size_t k = 0; k < count; ++k) {
      sums[layout_.on(on[k])] += each.weight;
      sums[layout_.value(on[k])] += moment;
      for (std::size_t i = 0; i <= k; ++i) sums[layout_.pair(on[i], on[k])] += each.weight;
    }
  }
  for (const Sums& group : groups_) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] += group[i];
  }
}

void LeverSplit::find_confounded() {
  for (std::size_t lever = 0; lever < levers_.size(); ++lever) {
    double varied = 0, weight = 0;
    for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        const auto sums = at(all_, stratum, side);
        if (sums[0] <= 0) continue;
        varied += sums[layout_.on(lever)] * (1 - sums[layout_.on(lever)] / sums[0]);
        weight += sums[0];
      }
    }
    confounded_.push_back(varied <= 1e-9 * weight);
  }
}

double LeverSplit::scale(const Sums& sums, std::size_t stratum,
                         std::array<double, 2> weight) const {
  if (metric_ == WaterfallMetric::ett_pct) return 1;
  const auto a = at(sums, stratum, 0), b = at(sums, stratum, 1);
  const double value = a[1] / weight[0] + b[1] / weight[1];
  const double mass = a[0] / weight[0] + b[0] / weight[1];
  return value > 0 ? value / mass : 1;
}

// Weighted least squares of value ÷ scale on the switches and a shift between the periods, with a
// level for each stratum (swept out by subtracting the stratum's means). Each period weighs 1.
std::vector<double> LeverSplit::effects(const Sums& sums, std::array<double, 2> weight) const {
  const std::size_t levers = levers_.size(), n = levers + 1;  // the shift is the last
  std::vector<double> products(n * n, 0), moments(n, 0);
  std::vector<double> on(n);
  for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
    const std::array sides = {at(sums, stratum, 0), at(sums, stratum, 1)};
    const double mass = sides[0][0] / weight[0] + sides[1][0] / weight[1];
    if (mass <= 0) continue;
    const double unit = 1 / scale(sums, stratum, weight);
    double value = 0;
    std::ranges::fill(on, 0);
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const double part = 1 / weight[side];
      value += sides[side][1] * part * unit;
      for (std::size_t k = 0; k < levers; ++k) {
        on[k] += sides[side][layout_.on(k)] * part;
        moments[k] += sides[side][layout_.value(k)] * part * unit;
        for (std::size_t i = 0; i <= k; ++i) {
          products[k * n + i] += sides[side][layout_.pair(i, k)] * part;
        }
      }
    }
    const double part = 1 / weight[1];
    on[levers] = sides[1][0] * part;
    moments[levers] += sides[1][1] * part * unit;
    products[levers * n + levers] += on[levers];
    for (std::size_t i = 0; i < levers; ++i) {
      products[levers * n + i] += sides[1][layout_.on(i)] * part;
    }
    for (std::size_t k = 0; k < n; ++k) {
      moments[k] -= on[k] * value / mass;
      for (std::size_t i = 0; i <= k; ++i) products[k * n + i] -= on[k] * on[i] / mass;
    }
  }
  // The smallest of ridges. That on the shift is larger: where a switch and the shift cannot be
  // told apart, the switch has it; where two switches cannot, they share.
  for (std::size_t k = 0; k < n; ++k) products[k * n + k] += k == levers ? 1e-6 : 1e-10;
  return solve(std::move(products), std::move(moments));
}

bool LeverSplit::steps(std::uint32_t without_group, Steps& out) const {
  Sums sums = all_;
  if (without_group < groups_.size()) {
    const Sums& left_out = groups_[without_group];
    // What is left of a sum after everything was taken away is rounding, never less than nothing.
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = left_out[i] >= sums[i] * (1 - 1e-12) ? 0 : sums[i] - left_out[i];
    }
  }
  std::array<double, 2> weight{}, value{};
  for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      weight[side] += at(sums, stratum, side)[0];
      value[side] += at(sums, stratum, side)[1];
    }
  }
  if (weight[0] <= 0 || weight[1] <= 0) return false;
  out = {};
  out.a = value[0] / weight[0];
  out.b = value[1] / weight[1];
  out.levers.assign(levers_.size(), 0);
  const std::vector<double> effect = effects(sums, weight);
  // Against the middle of both periods, so that a stratum like the others is no step.
  const double middle = (out.a + out.b) / 2;
  double within = 0;
  for (std::size_t stratum = 0; stratum < strata_; ++stratum) {
    const auto a = at(sums, stratum, 0), b = at(sums, stratum, 1);
    const double share_a = a[0] / weight[0], share_b = b[0] / weight[1];
    if (a[0] > 0 && b[0] > 0) {
      const double mean_a = a[1] / a[0], mean_b = b[1] / b[0];
      const double share = (share_a + share_b) / 2;
      out.mix += (share_b - share_a) * ((mean_a + mean_b) / 2 - middle);
      within += share * (mean_b - mean_a);
      const double unit = share * scale(sums, stratum, weight);
      for (std::size_t i = 0; i < levers_.size(); ++i) {
        const double adopted = b[layout_.on(i)] / b[0] - a[layout_.on(i)] / a[0];
        out.levers[i] += unit * effect[i] * adopted;
      }
    } else if (b[0] > 0) {
      out.appeared += share_b * (b[1] / b[0] - middle);
    } else if (a[0] > 0) {
      out.vanished -= share_a * (a[1] / a[0] - middle);
    }
  }
  out.other = within;
  for (const double lever : out.levers) out.other -= lever;
  return true;
}

}  // namespace headway::fleet
