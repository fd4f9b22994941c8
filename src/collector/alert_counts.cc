#include "collector/alert_counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "collector/fleet_counters.h"
#include "interchange/json_text.h"

namespace headway::collector {
namespace {

// The dearest keep their names.
std::map<std::string, OpenRegressions> bounded(std::map<std::string, OpenRegressions> all) {
  if (all.size() <= AlertCounts::components_max) return all;
  std::vector<std::pair<std::string, OpenRegressions>> ranked(all.begin(), all.end());
  std::ranges::stable_sort(ranked, std::ranges::greater{},
                           [](const auto& one) { return one.second.device_hours_per_day; });
  std::map<std::string, OpenRegressions> out;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const bool named = i < AlertCounts::components_max;
    OpenRegressions& to = out[named ? ranked[i].first : std::string(FleetCounters::kOther)];
    to.regressions += ranked[i].second.regressions;
    to.device_hours_per_day += ranked[i].second.device_hours_per_day;
  }
  return out;
}

template <typename T>
T value_or(const nlohmann::json& document, const char* key, T otherwise) {
  const auto found = document.find(key);
  if (found == document.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->get<std::string>() : otherwise;
  } else {
    return found->is_number() ? found->get<T>() : otherwise;
  }
}

}  // namespace

AlertCounts count_alerts(std::span<const store::AlertRow> rows,
                         const regress::AlertTargets& targets) {
  AlertCounts out;
  regress::Sla sla(targets);
  for (const store::AlertRow& row : rows) {
    const nlohmann::json document = nlohmann::json::parse(row.document, nullptr, false);
    if (!document.is_object()) continue;
    const std::string state = value_or(document, "state", std::string());
    ++(state == "open" ? out.open : state == "acknowledged" ? out.acknowledged : out.gone);
    const std::string component =
        interchange::valid_utf8(value_or(document, "component", std::string("unknown")));
    const auto began_ns = value_or(document, "began_ns", std::int64_t{0});
    const auto found_ns = value_or(document, "found_ns", std::int64_t{0});
    if (found_ns > 0) sla.add(component, began_ns, found_ns);
    if (state != "open") continue;
    OpenRegressions& of = out.components[component];
    ++of.regressions;
    of.device_hours_per_day += value_or(document, "device_hours_per_day", 0.0);
  }
  out.sla = sla.rows();
  out.components = bounded(std::move(out.components));
  return out;
}

}  // namespace headway::collector
