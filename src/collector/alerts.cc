#include "collector/alerts.h"

#include <map>
#include <nlohmann/json.hpp>

#include "collector/alert_document.h"

namespace headway::collector {

using base::Result;
using base::Status;
using nlohmann::json;

Result<std::vector<store::AlertRow>> Alerts::all(const std::string& tenant) {
  return store_.alerts(tenant, alerts_max);
}

Result<std::vector<Alert>> Alerts::update(
    const std::string& tenant,
    const std::function<regress::Findings(std::vector<regress::Known>)>& watch,
    const std::function<std::pair<std::string, std::int64_t>(std::size_t)>& name,
    std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  auto rows = store_.alerts(tenant, alerts_max);
  if (!rows.ok()) return rows.status();
  std::map<std::string, json> before;
  std::vector<regress::Known> known;
  for (const store::AlertRow& row : *rows) {
    json document = json::parse(row.document, nullptr, false);
    if (!document.is_object()) continue;
    if (!is_gone(document)) {
      if (auto one = known_of(document)) known.push_back(std::move(*one));
    }
    before.emplace(row.key, std::move(document));
  }
  const regress::Findings found = watch(std::move(known));
  std::vector<Alert> changed;
  Status status;
  const auto put = [&](const std::string& key, const json& document, bool fresh) {
    auto row = store_.put_alert(
        {0, tenant, key, document.dump(-1, ' ', false, json::error_handler_t::replace), now_ns});
    if (row.ok()) {
      changed.push_back({std::move(*row), fresh});
    } else {
      status = row.status();
    }
  };
  for (const regress::Regression& regression : found.regressions) {
    std::vector<NamedAttempt> attempts;
    for (const std::size_t index : regression.attempts) {
      auto [job, attempt] = name(index);
      attempts.push_back({std::move(job), attempt});
    }
    const auto kept = before.find(regression.key);
    const json& old = kept == before.end() ? json() : kept->second;
    const json document = alert_document(regression, attempts, old, now_ns);
    // One that was gone before it was ever announced is nobody's business.
    if (kept == before.end() && is_gone(document)) continue;
    if (document != old) put(regression.key, document, kept == before.end());
  }
  for (const std::string& key : found.vanished) {
    const auto kept = before.find(key);
    if (kept == before.end() || is_gone(kept->second)) continue;
    mark_gone(kept->second, now_ns);
    put(key, kept->second, false);
  }
  if (!status.ok()) return status;
  return changed;
}

Result<std::optional<store::AlertRow>> Alerts::acknowledge(const std::string& tenant,
                                                           std::int64_t id, const std::string& by,
                                                           const std::string& note,
                                                           std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  auto rows = store_.alerts(tenant, alerts_max);
  if (!rows.ok()) return rows.status();
  for (store::AlertRow& row : *rows) {
    if (row.id != id) continue;
    json document = json::parse(row.document, nullptr, false);
    if (!document.is_object()) break;
    mark_acknowledged(document, by, note, now_ns);
    row.document = document.dump(-1, ' ', false, json::error_handler_t::replace);
    row.changed_ns = now_ns;
    auto kept = store_.put_alert(std::move(row));
    if (!kept.ok()) return kept.status();
    return std::optional(std::move(*kept));
  }
  return std::optional<store::AlertRow>();
}

}  // namespace headway::collector
