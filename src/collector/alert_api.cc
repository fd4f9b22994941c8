#include "collector/alert_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cut_text.h"
#include "collector/alert_counts.h"
#include "collector/alert_document.h"
#include "collector/answers.h"
#include "collector/fleet_json.h"
#include "regress/sla.h"

namespace headway::collector {
namespace {

using net::ServerAnswer;
using net::ServerRequest;
using nlohmann::json;

constexpr std::size_t by_bytes_max = 200, note_bytes_max = 2000;

// With its number, and without what is for the detector alone.
json told(const store::AlertRow& row) {
  json document = json::parse(row.document, nullptr, false);
  if (!document.is_object()) return nullptr;
  document["id"] = row.id;
  document.erase("members");
  return document;
}

json sla_json(const std::vector<regress::SlaRow>& rows) {
  json out = json::array();
  for (const regress::SlaRow& row : rows) {
    out.push_back({{"component", row.component},
                   {"target_s", row.target_s},
                   {"p50_s", row.p50_s},
                   {"p90_s", row.p90_s},
                   {"alerts", row.alerts},
                   {"late", row.late}});
  }
  return out;
}

}  // namespace

ServerAnswer regressions_answer(Alerts& alerts, const Watcher& watcher, const std::string& tenant,
                                const ServerRequest& request) {
  const std::string* state = request.argument("state");
  if (state != nullptr && *state != "open" && *state != "all") {
    return error_answer(400, fmt::format("state={}: give open or all", *state));
  }
  const bool all = state != nullptr && *state == "all";
  auto rows = alerts.all(tenant);
  if (!rows.ok()) return later_answer(503, rows.status().message(), 5);
  std::vector<json> shown;
  for (const store::AlertRow& row : *rows) {
    json document = told(row);
    if (document.is_null()) continue;
    if (all || !is_gone(document)) shown.push_back(std::move(document));
  }
  // What is open first, the dearest first.
  std::ranges::stable_sort(shown, {}, [](const json& document) {
    const std::string word = document.value("state", "");
    return std::pair(word == "open"           ? 0
                     : word == "acknowledged" ? 1
                                              : 2,
                     -document.value("device_hours_per_day", 0.0));
  });
  const WatchState watched = watcher.state(tenant);
  return json_answer(
      200, to_text({{"regressions", shown},
                    {"sla", sla_json(count_alerts(*rows, alerts.options().targets).sla)},
                    {"checked_ns", watched.checked_ns == 0 ? json() : json(watched.checked_ns)},
                    {"series", watched.series},
                    {"left_out", watched.left_out},
                    {"attempts", watched.attempts},
                    {"attempts_left_out", watched.attempts_left_out}}));
}

ServerAnswer acknowledge_answer(Alerts& alerts, const std::string& tenant, std::int64_t id,
                                const ServerRequest& request, std::int64_t now_ns) {
  const json body = json::parse(request.body, nullptr, false);
  if (!body.is_object() || !body.contains("by") || !body["by"].is_string() ||
      body["by"].get<std::string>().empty() ||
      (body.contains("note") && !body["note"].is_string())) {
    return error_answer(400, "give {\"by\": \"your name\", \"note\": \"what you do about it\"}");
  }
  const std::string by(base::cut_text(body["by"].get<std::string>(), by_bytes_max));
  const std::string note(base::cut_text(body.value("note", ""), note_bytes_max));
  auto row = alerts.acknowledge(tenant, id, by, note, now_ns);
  if (!row.ok()) return later_answer(503, row.status().message(), 5);
  if (!row->has_value()) return error_answer(404, fmt::format("there is no regression {}", id));
  return json_answer(200, to_text(told(**row)));
}

}  // namespace headway::collector
