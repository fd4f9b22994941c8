// Parts that answers about the fleet have in common, as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/wide.h"
#include "fleet/estimate.h"
#include "fleet/rollup.h"
#include "fleet/selection.h"
#include "fleet/survival.h"

namespace headway::collector {

[[nodiscard]] inline nlohmann::json maybe(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
[[nodiscard]] inline nlohmann::json doubt_json(const fleet::Doubt& doubt) {
  return {{"value", maybe(doubt.value)}, {"low", maybe(doubt.low)}, {"high", maybe(doubt.high)}};
}
[[nodiscard]] nlohmann::json durations_json(const std::optional<fleet::Durations>& durations);
// Whole nanoseconds while they fit a JSON reader's integers, else as a double.
[[nodiscard]] nlohmann::json wide_json(base::Int128 ns);
// {"family": "dlrm"}; `names` and `values` as long as each other.
[[nodiscard]] nlohmann::json key_json(const std::vector<std::string>& names,
                                      const std::vector<std::string>& values);
[[nodiscard]] nlohmann::json group_json(const fleet::RollupGroup& group,
                                        const std::vector<std::string>& names,
                                        fleet::Weight weight);
// What was asked of: days and weight.
void add_selection(nlohmann::json& out, const fleet::Selection& selection);
[[nodiscard]] std::string to_text(const nlohmann::json& json);

}  // namespace headway::collector
