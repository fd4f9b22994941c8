#include "fleet/waterfall.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "fleet/bucket_words.h"
#include "fleet/lever_split.h"
#include "fleet/waterfall_sample.h"

namespace headway::fleet {
namespace {

using Kind = WaterfallStep::Kind;
using timeline::Bucket;
using timeline::kBuckets;
constexpr std::size_t kParts = WaterfallSample::kParts;

struct ComponentSums {
  double weight = 0;
  std::array<double, kParts> parts{};
  bool operator==(const ComponentSums&) const = default;
};
using Both = std::array<ComponentSums, 2>;  // a and b

// What one waterfall comes to: the ends, then a number for each step.
using Numbers = std::vector<double>;

void set_range(double value, const Jackknife& jackknife, std::optional<double>& low,
               std::optional<double>& high) {
  const auto half = jackknife.half();
  if (!half) return;
  low = value - *half;
  high = value + *half;
}

// `numbers` of all, and of all but each group; fewer than all groups where one is a whole side.
void set_doubts(WaterfallMetric metric, const Numbers& numbers, const std::vector<Numbers>& without,
                std::uint32_t groups, Waterfall& out) {
  HW_CHECK(numbers.size() == out.steps.size() + 2);
  std::vector<Jackknife> jackknives(numbers.begin(), numbers.end());
  if (without.size() == groups) {
    for (const Numbers& each : without) {
      for (std::size_t i = 0; i < each.size(); ++i) jackknives[i].add(each[i]);
    }
  }
  const double most = metric == WaterfallMetric::ett_pct ? 100 : INFINITY;
  const auto set_end = [&](std::size_t i, Doubt& end) {
    end.value = numbers[i];
    set_range(numbers[i], jackknives[i], end.low, end.high);
    if (end.low) end.low = std::max(0.0, *end.low);
    if (end.high) end.high = std::min(most, *end.high);
  };
  set_end(0, out.a.doubt);
  set_end(1, out.b.doubt);
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    WaterfallStep& step = out.steps[i];
    step.delta = numbers[i + 2];
    set_range(step.delta, jackknives[i + 2], step.low, step.high);
  }
}

// ---- by component ----

Both without(const Both& all, const Both& group) {
  Both out = all;
  for (std::size_t side = 0; side < 2; ++side) {
    out[side].weight -= group[side].weight;
    if (out[side].weight <= 1e-12 * all[side].weight) out[side].weight = 0;
    for (std::size_t i = 0; i < kParts; ++i) out[side].parts[i] -= group[side].parts[i];
  }
  return out;
}

// Nothing where a side is empty.
Numbers component_numbers(WaterfallMetric metric, const Both& sums,
                          const std::vector<std::size_t>& shown) {
  if (sums[0].weight <= 0 || sums[1].weight <= 0) return {};
  const bool ett = metric == WaterfallMetric::ett_pct;
  Numbers out;
  for (const ComponentSums& side : sums) {
    double value = 0;
    for (std::size_t i = 0; i < kParts; ++i) value += side.parts[i];
    if (ett) value = side.parts[timeline::index(Bucket::effective)];
    out.push_back(value / side.weight);
  }
  for (const std::size_t i : shown) {
    const double delta = sums[1].parts[i] / sums[1].weight - sums[0].parts[i] / sums[0].weight;
    out.push_back(ett ? -delta : delta);
  }
  return out;
}

std::vector<std::size_t> shown_parts(WaterfallMetric metric, const Both& sums) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < kParts; ++i) {
    const bool effective =
        metric == WaterfallMetric::ett_pct && i == timeline::index(Bucket::effective);
    if (!effective && (sums[0].parts[i] != 0 || sums[1].parts[i] != 0)) shown.push_back(i);
  }
  return shown;
}

WaterfallStep component_step(std::size_t part, const Both& sums) {
  WaterfallStep step;
  const bool outside = part == kBuckets;
  step.name = outside ? "queued" : std::string(bucket_word(static_cast<Bucket>(part)));
  step.label =
      outside ? "waiting for resources" : std::string(bucket_label(static_cast<Bucket>(part)));
  if (sums[0].parts[part] == 0) step.kind = Kind::appeared;
  if (sums[1].parts[part] == 0) step.kind = Kind::vanished;
  return step;
}

void split_by_component(WaterfallMetric metric, const WaterfallSample& sample, Waterfall& out) {
  std::vector<Both> groups(sample.groups);
  for (const Observation& each : sample.all) {
    if (each.weight <= 0) continue;
    ComponentSums& sums = groups[each.group][each.side];
    sums.weight += each.weight;
    sample.add_parts(each, metric, sums.parts);
  }
  Both all{};
  for (const Both& group : groups) {
    for (std::size_t side = 0; side < 2; ++side) {
      all[side].weight += group[side].weight;
      for (std::size_t i = 0; i < kParts; ++i) all[side].parts[i] += group[side].parts[i];
    }
  }
  const std::vector<std::size_t> shown = shown_parts(metric, all);
  const Numbers numbers = component_numbers(metric, all, shown);
  if (numbers.empty()) return;
  for (const std::size_t part : shown) out.steps.push_back(component_step(part, all));
  std::vector<Numbers> others;
  for (const Both& group : groups) {
    Numbers each = component_numbers(metric, without(all, group), shown);
    if (!each.empty()) others.push_back(std::move(each));
  }
  set_doubts(metric, numbers, others, sample.groups, out);
}

// ---- by lever ----

Numbers lever_numbers(const LeverSplit::Steps& steps) {
  Numbers out = {steps.a, steps.b};
  out.insert(out.end(), steps.levers.begin(), steps.levers.end());
  out.insert(out.end(), {steps.mix, steps.appeared, steps.vanished, steps.other});
  return out;
}

void split_by_lever(const Snapshot& snapshot, WaterfallMetric metric, const WaterfallSample& sample,
                    Waterfall& out) {
  const LeverSplit split(sample, metric);
  LeverSplit::Steps steps;
  if (!split.steps(sample.groups, steps)) return;
  const Numbers numbers = lever_numbers(steps);
  for (std::size_t i = 0; i < split.levers().size(); ++i) {
    WaterfallStep& step = out.steps.emplace_back();
    step.name = snapshot.levers()[split.levers()[i]];
    step.label = step.name;
    step.kind = Kind::lever;
    if (split.confounded(i)) step.label += " (everywhere at once, with all that changed then)";
  }
  out.steps.push_back({"mix", "other jobs than before", Kind::mix, 0, {}, {}});
  out.steps.push_back({"appeared", "kinds of jobs that are new", Kind::appeared, 0, {}, {}});
  out.steps.push_back({"vanished", "kinds of jobs that are gone", Kind::vanished, 0, {}, {}});
  out.steps.push_back({"other", "other changes", Kind::component, 0, {}, {}});
  std::vector<Numbers> others;
  for (std::uint32_t group = 0; group < sample.groups; ++group) {
    if (split.steps(group, steps)) others.push_back(lever_numbers(steps));
  }
  set_doubts(metric, numbers, others, sample.groups, out);
  // Switches by what they did; what was nothing is no step, but for the rest.
  const auto rest = out.steps.end() - 4;
  std::stable_sort(out.steps.begin(), rest, [](const WaterfallStep& a, const WaterfallStep& b) {
    return std::abs(a.delta) > std::abs(b.delta);
  });
  std::erase_if(out.steps,
                [](const WaterfallStep& step) { return step.delta == 0 && step.name != "other"; });
}

}  // namespace

std::optional<WaterfallMetric> waterfall_metric_of(std::string_view name) {
  if (name == "time_to_start_s") return WaterfallMetric::time_to_start_s;
  if (name == "ett_pct") return WaterfallMetric::ett_pct;
  return std::nullopt;
}

std::optional<WaterfallSplit> waterfall_split_of(std::string_view name) {
  if (name == "component") return WaterfallSplit::component;
  if (name == "lever") return WaterfallSplit::lever;
  return std::nullopt;
}

std::string_view step_kind_name(Kind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"component", "lever", "mix", "appeared",
                                                      "vanished"};
  HW_CHECK(static_cast<std::size_t>(kind) < kNames.size());
  return kNames[static_cast<std::size_t>(kind)];
}

Waterfall waterfall(const Snapshot& snapshot, WaterfallMetric metric, WaterfallSplit split,
                    const Selection& a, const Selection& b) {
  const WaterfallSample sample =
      waterfall_sample(snapshot, metric, a, b, split == WaterfallSplit::lever);
  Waterfall out;
  out.a.count = sample.counts[0];
  out.b.count = sample.counts[1];
  if (split == WaterfallSplit::component) {
    split_by_component(metric, sample, out);
  } else {
    split_by_lever(snapshot, metric, sample, out);
  }
  return out;
}

}  // namespace headway::fleet
