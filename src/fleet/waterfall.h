// From one period or cohort to another, step by step: what made Time to Start shorter, or ETT%
// higher. The steps sum to the difference, whatever they are split by:
//
// - by component: each bucket's part of a start, or its share of the time.
// - by lever: what each switch did, where its adoption changed. Attempts are put into strata
//   (family × hardware × size). The effect of a switch is estimated by comparing attempts with and
//   without it inside strata, all switches at once, by weighted least squares with a level for each
//   stratum and a common shift between the periods; for Time to Start as a share of the stratum's
//   mean, for ETT% in points. Its step is that effect times the change of its adoption. Beside
//   them: `mix`, strata weigh differently; `appeared` and `vanished`, strata of one period only;
//   `other`, what changed inside strata and no switch explains. A switch that was thrown everywhere
//   at once cannot be told from what else changed then: it gets all of it, and its label says so.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/estimate.h"
#include "fleet/selection.h"

namespace headway::fleet {

enum class WaterfallMetric : std::uint8_t { time_to_start_s, ett_pct };
enum class WaterfallSplit : std::uint8_t { component, lever };
[[nodiscard]] std::optional<WaterfallMetric> waterfall_metric_of(std::string_view name);
[[nodiscard]] std::optional<WaterfallSplit> waterfall_split_of(std::string_view name);

struct WaterfallStep {
  enum class Kind : std::uint8_t { component, lever, mix, appeared, vanished };
  std::string name;   // a bucket's word, a lever's name, "queued", "mix", "appeared", "other", …
  std::string label;  // for a person
  Kind kind = Kind::component;
  double delta = 0;
  std::optional<double> low, high;
};
[[nodiscard]] std::string_view step_kind_name(WaterfallStep::Kind kind);

struct Waterfall {
  struct End {
    Doubt doubt;
    std::uint64_t count = 0;  // starts, or attempts
  };
  End a, b;
  std::vector<WaterfallStep> steps;  // empty where a or b has no value
};

inline constexpr std::size_t waterfall_levers_max = 16;   // those whose adoption changed most
inline constexpr std::size_t waterfall_strata_max = 512;  // the largest; others are one
// The weight is a's.
[[nodiscard]] Waterfall waterfall(const Snapshot& snapshot, WaterfallMetric metric,
                                  WaterfallSplit split, const Selection& a, const Selection& b);

}  // namespace headway::fleet
