// What one attempt says about each watched component. The only place that knows which bucket is
// counted where; series, filters and explanations all look through it. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fleet/fact.h"
#include "regress/component.h"

namespace headway::regress {

// One measured length or share: of a kind that is log-normal.
struct Observation {
  Kind kind = Kind::start;
  timeline::Bucket bucket = timeline::Bucket::scheduling;
  std::int32_t day = 0;
  std::int64_t t_ns = 0;  // when it was complete: nothing slow is missing from the newest hours
  double value = 0;       // seconds or a share; > 0
  double device_s = 0;    // what it cost
};

inline constexpr std::int64_t part_ns_min = 1'000'000;              // less: the stage did not occur
inline constexpr std::int64_t loop_ns_min = 600 * 1'000'000'000ll;  // a shorter share says little

// Appends all of an attempt's. Of a day that is not over the loop's shares are skewed towards what
// loops begin with: whoever calls leaves such days out.
void observe(const fleet::AttemptFacts& facts, std::vector<Observation>& out);

// Buckets that a start or a recovery consists of.
[[nodiscard]] std::span<const timeline::Bucket> start_buckets();
// Of a component's name. None: no component has it.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view component);
[[nodiscard]] std::int64_t loop_ns(const timeline::Sums& sums);

// A failure by its series' name: its category, or "preemption".
[[nodiscard]] std::optional<std::string_view> failure_category(const fleet::AttemptFacts& facts,
                                                               bool user_errors);
inline constexpr std::string_view preemption_category = "preemption";

// What an attempt adds to a component's level: level = Σ sum / Σ weight.
struct Sample {
  std::size_t index = 0;  // of the attempt
  std::int64_t t_ns = 0;
  double sum = 0;
  double weight = 0;
  double device_s = 0;
};
// Appends those of attempt `index` on days [first_day, last_day].
void sample(const fleet::AttemptFacts& facts, std::size_t index, const Component& component,
            std::int32_t first_day, std::int32_t last_day, std::vector<Sample>& out);

}  // namespace headway::regress
