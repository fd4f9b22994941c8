#include "regress/explain.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace headway::regress {
namespace {

constexpr double kCauseScoreMin = 0.3;  // of what there is to know; less is coincidence as often

std::vector<std::size_t> attempts_in(std::span<const Sample> samples) {
  std::vector<std::size_t> all;
  for (const Sample& each : samples) all.push_back(each.index);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() <= compared_max) return all;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < compared_max; ++i) {
    some.push_back(all[i * all.size() / compared_max]);
  }
  return some;
}

}  // namespace

Compared compare(std::span<const fleet::AttemptFacts> facts,
                 std::span<const std::uint32_t> attempts, const Component& component,
                 const Change& change, std::int32_t last_day, std::int32_t days) {
  Compared out;
  out.before_last_day = change.low_day - 1;
  out.before_first_day = out.before_last_day - days + 1;
  out.after_first_day = change.high_day;
  out.after_last_day = std::min(last_day, change.high_day + days - 1);
  std::vector<Sample> all;
  for (const std::uint32_t i : attempts) {
    sample(facts[i], i, component, out.before_first_day, out.after_last_day, all);
  }
  for (const Sample& each : all) {
    const std::int32_t day = fleet::day_of(each.t_ns);
    auto& side = day <= out.before_last_day  ? out.before
                 : day < out.after_first_day ? out.between
                                             : out.after;
    side.push_back(each);
  }
  return out;
}

std::vector<std::size_t> worst_attempts(const Compared& compared, Law law, double before,
                                        std::size_t attempts_max) {
  std::unordered_map<std::size_t, double> excess_s;
  for (const Sample& each : compared.after) {
    const double share = law == Law::log_normal ? 1 - std::exp(before - each.sum) : each.sum;
    if (share > 0) excess_s[each.index] += each.device_s * share;
  }
  std::vector<std::pair<std::size_t, double>> order(excess_s.begin(), excess_s.end());
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::size_t> out;
  for (const auto& [index, excess] : order) {
    if (out.size() == attempts_max) break;
    out.push_back(index);
  }
  return out;
}

FirstBad began(const Compared& compared, const Component& component, const Change& change,
               double spread) {
  // Shares of a loop are known a day at a time, counts only together.
  const bool single = component.kind == Kind::start || component.kind == Kind::recover ||
                      component.kind == Kind::end;
  if (single) {
    std::vector<Sample> near;
    for (const auto* side : {&compared.before, &compared.between, &compared.after}) {
      for (const Sample& each : *side) {
        const std::int32_t day = fleet::day_of(each.t_ns);
        if (day >= change.low_day - 2 && day <= change.high_day + 1) near.push_back(each);
      }
    }
    if (const auto found = first_bad(near, change.before, change.after, spread)) return *found;
  }
  return {std::int64_t{change.began_day} * fleet::kDayNs,
          std::int64_t{change.low_day} * fleet::kDayNs,
          (std::int64_t{change.high_day} + 1) * fleet::kDayNs};
}

std::vector<Separator> separators_of(std::span<const fleet::AttemptFacts> facts,
                                     const Compared& compared, const SeparatorOptions& options) {
  const std::vector<std::size_t> before = attempts_in(compared.before);
  const std::vector<std::size_t> after = attempts_in(compared.after);
  return separators(facts, before, after, options);
}

std::string cause_of(std::span<const Separator> separators) {
  if (separators.empty() || separators.front().score < kCauseScoreMin) return {};
  return separators.front().field + "=" + separators.front().value;
}

}  // namespace headway::regress
