#include "regress/filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "regress/tail.h"

namespace headway::regress {
namespace {

constexpr double kSure = 0.05;     // over all components of a stratum together
constexpr double kPreemptedZ = 3;  // a wave, not a ripple
constexpr double kMixShareMin = 0.5;
constexpr std::array kWhoAndWhere = {fleet::Dimension::family,  fleet::Dimension::team,
                                     fleet::Dimension::cluster, fleet::Dimension::hardware,
                                     fleet::Dimension::size,    fleet::Dimension::priority};

struct Range {
  double n = 0, device_s = 0;
};

Range range(const Series& series, std::size_t first, std::size_t last) {
  Range out;
  for (std::size_t i = first; i < last; ++i) {
    out.n += series.cells[i].n;
    out.device_s += series.cells[i].device_s;
  }
  return out;
}

std::size_t place_of(const Evidence& evidence, std::int32_t day) {
  std::size_t i = 0;
  while (i < evidence.size() && evidence.day(i) < day) ++i;
  return i;
}

}  // namespace

double cost_per_day(const Series& series, const Change& change) {
  const Range before = range(series, change.first, change.at);
  const Range after = range(series, change.at, change.last);
  const double ratio = change.ratio(law_of(series.component.kind));
  const double days = series.cells[change.last - 1].day - series.cells[change.at].day + 1;
  // From the side that has more of it: a stage that is gone costs nothing to measure by.
  const double cost = ratio >= 1 ? after.device_s * (1 - 1 / ratio)
                                 : before.device_s / before.n * after.n * (ratio - 1);
  return cost / days;
}

std::optional<Change> same_days(const Evidence& from, const Change& change, const Evidence& other) {
  Change out;
  out.first = place_of(other, from.day(change.first));
  out.at = place_of(other, change.began_day);
  out.last = place_of(other, from.day(change.last - 1) + 1);
  if (out.first >= out.at || out.at >= out.last) return std::nullopt;
  out.began_day = change.began_day;
  out.before = other.level(out.first, out.at);
  out.after = other.level(out.at, out.last);
  out.z = other.z(out.first, out.at, out.last);
  return out;
}

Moved moved(std::span<const Watched> stratum, std::size_t own, const Change& change) {
  Moved out;
  out.rose = cost_per_day(*stratum[own].series, change);
  const double p_max = kSure / static_cast<double>(stratum.size());
  for (std::size_t i = 0; i < stratum.size(); ++i) {
    // What failures cost is not a phase that a stage's time could have gone to.
    if (i == own || stratum[i].series->component.kind == Kind::failures) continue;
    const auto other = same_days(stratum[own].evidence, change, stratum[i].evidence);
    if (!other || stratum[i].evidence.tail(std::abs(other->z)) > p_max) continue;
    const double cost = cost_per_day(*stratum[i].series, *other);
    (cost > 0 ? out.rose : out.fell) += std::abs(cost);
  }
  return out;
}

bool with_preemptions(std::span<const Watched> stratum, std::size_t own, const Change& change) {
  const Kind kind = stratum[own].series->component.kind;
  if (kind != Kind::recover && kind != Kind::recover_often) return false;
  for (const Watched& each : stratum) {
    const Component& component = each.series->component;
    if (component.kind != Kind::failures || component.category != preemption_category) continue;
    const auto other = same_days(stratum[own].evidence, change, each.evidence);
    if (other && std::abs(other->z) >= kPreemptedZ) return true;
  }
  return false;
}

double mix_share(std::span<const fleet::AttemptFacts> facts, std::span<const Sample> before,
                 std::span<const Sample> after, fleet::Dimension dimension) {
  struct Both {
    std::array<double, 2> sum{}, weight{};
  };
  std::map<std::string_view, Both> segments;
  std::array<double, 2> sum{}, weight{};
  const auto add = [&](std::span<const Sample> samples, std::size_t side) {
    for (const Sample& each : samples) {
      Both& own = segments[facts[each.index].dimensions[static_cast<std::size_t>(dimension)]];
      own.sum[side] += each.sum;
      own.weight[side] += each.weight;
      sum[side] += each.sum;
      weight[side] += each.weight;
    }
  };
  add(before, 0);
  add(after, 1);
  if (weight[0] <= 0 || weight[1] <= 0) return 0;
  const double level_before = sum[0] / weight[0], level_after = sum[1] / weight[1];
  if (level_before == level_after) return 0;
  const double middle = (level_before + level_after) / 2;
  double mix = 0;
  for (const auto& [value, own] : segments) {
    const double share_before = own.weight[0] / weight[0], share_after = own.weight[1] / weight[1];
    const bool was = own.weight[0] > 0, is = own.weight[1] > 0;
    if (!was && !is) continue;
    const double rate_before = was ? own.sum[0] / own.weight[0] : own.sum[1] / own.weight[1];
    const double rate_after = is ? own.sum[1] / own.weight[1] : rate_before;
    mix += ((rate_before + rate_after) / 2 - middle) * (share_after - share_before);
  }
  return mix / (level_after - level_before);
}

std::optional<fleet::Dimension> explained_by_mix(std::span<const fleet::AttemptFacts> facts,
                                                 std::span<const Sample> before,
                                                 std::span<const Sample> after,
                                                 std::span<const fleet::Dimension> by) {
  std::optional<fleet::Dimension> out;
  double most = kMixShareMin;
  for (const fleet::Dimension dimension : kWhoAndWhere) {
    if (std::ranges::find(by, dimension) != by.end()) continue;
    const double share = mix_share(facts, before, after, dimension);
    if (share < most) continue;
    most = share;
    out = dimension;
  }
  return out;
}

}  // namespace headway::regress
