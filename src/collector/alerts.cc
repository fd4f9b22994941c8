#include "collector/alerts.h"

#include <map>
#include <nlohmann/json.hpp>

#include "collector/alert_document.h"

namespace headway::collector {

using base::Result;
using base::Status;
using nlohmann::json;
using store::AlertRow;

namespace {

// Each turn somebody else has written in between, and has moved on.
constexpr int turns_max = 50;

}  // namespace

Result<std::vector<AlertRow>> Alerts::all(const std::string& tenant) {
  return store_.alerts(tenant, alerts_max);
}

Result<std::optional<AlertRow>> Alerts::find(const std::string& tenant,
                                             const std::function<bool(const AlertRow&)>& is) {
  auto rows = store_.alerts(tenant, alerts_max);
  if (!rows.ok()) return rows.status();
  for (AlertRow& row : *rows) {
    if (is(row)) return std::optional(std::move(row));
  }
  return std::optional<AlertRow>();
}

// `kept`: the row as it was last seen. `change` makes the new document of the old one, which is
// null where there is none; false: nothing is to be written. None: nothing was.
Result<std::optional<AlertRow>> Alerts::put(std::optional<AlertRow> kept, const std::string& tenant,
                                            const std::string& key, const Change& change,
                                            std::int64_t now_ns) {
  for (int turn = 0; turn < turns_max; ++turn) {
    json document;
    if (kept) document = json::parse(kept->document, nullptr, false);
    if (!document.is_object()) document = nullptr;
    if (!change(document)) return std::optional<AlertRow>();
    auto row = store_.put_alert(
        {0, tenant, key, document.dump(-1, ' ', false, json::error_handler_t::replace), now_ns},
        kept ? kept->document : "");
    if (!row.ok() || row->has_value()) return row;
    auto again = find(tenant, [&](const AlertRow& each) { return each.key == key; });
    if (!again.ok()) return again.status();
    kept = std::move(*again);
  }
  return Status::io("alert " + key + ": others write it all the time");
}

AlertChanges Alerts::update(
    const std::string& tenant,
    const std::function<regress::Findings(std::vector<regress::Known>)>& watch,
    const std::function<std::pair<std::string, std::int64_t>(std::size_t)>& name,
    std::int64_t now_ns) {
  AlertChanges out;
  auto rows = store_.alerts(tenant, alerts_max);
  if (!rows.ok()) return {{}, rows.status()};
  std::map<std::string, AlertRow> before;
  std::vector<regress::Known> known;
  for (AlertRow& row : *rows) {
    const json document = json::parse(row.document, nullptr, false);
    if (document.is_object() && !is_gone(document)) {
      if (auto one = known_of(document)) known.push_back(std::move(*one));
    }
    before.emplace(row.key, std::move(row));
  }
  const regress::Findings found = watch(std::move(known));
  const auto write = [&](const std::string& key, const Change& change) {
    const auto kept = before.find(key);
    auto row = put(kept == before.end() ? std::nullopt : std::optional(kept->second), tenant, key,
                   change, now_ns);
    if (!row.ok()) out.status = row.status();
    if (row.ok() && row->has_value()) out.rows.push_back(std::move(**row));
  };
  for (const regress::Regression& regression : found.regressions) {
    std::vector<NamedAttempt> attempts;
    for (const std::size_t index : regression.attempts) {
      auto [job, attempt] = name(index);
      attempts.push_back({std::move(job), attempt});
    }
    write(regression.key, [&](json& document) {
      json news = alert_document(regression, attempts, document, now_ns);
      // One that was gone before it was ever told is nobody's business.
      if (document.is_null() && is_gone(news)) return false;
      plan_announcement(news, options_.announce_from, now_ns);
      if (news == document) return false;
      document = std::move(news);
      return true;
    });
  }
  for (const std::string& key : found.vanished) {
    write(key, [&](json& document) {
      if (document.is_null() || is_gone(document)) return false;
      mark_gone(document, now_ns);
      plan_announcement(document, options_.announce_from, now_ns);
      return true;
    });
  }
  return out;
}

Result<std::optional<AlertRow>> Alerts::acknowledge(const std::string& tenant, std::int64_t id,
                                                    const std::string& by, const std::string& note,
                                                    std::int64_t now_ns) {
  auto row = find(tenant, [&](const AlertRow& each) { return each.id == id; });
  if (!row.ok() || !row->has_value()) return row;
  const std::string key = (*row)->key;
  return put(
      std::move(*row), tenant, key,
      [&](json& document) {
        if (document.is_null()) return false;
        mark_acknowledged(document, by, note, now_ns);
        return true;
      },
      now_ns);
}

Result<std::vector<AlertRow>> Alerts::to_announce() {
  auto rows = store_.alerts("", announcements_max);
  if (!rows.ok()) return rows;
  std::erase_if(*rows, [](const AlertRow& row) {
    const json document = json::parse(row.document, nullptr, false);
    return !document.is_object() || !waits_for_announcement(document);
  });
  return rows;
}

Status Alerts::announced(const std::string& tenant, std::int64_t id, std::int64_t number,
                         const std::string& outcome, std::int64_t now_ns) {
  auto row = find(tenant, [&](const AlertRow& each) { return each.id == id; });
  if (!row.ok() || !row->has_value()) return row.status();
  // When it changed is not when it was announced: what is newest stays newest.
  const std::int64_t changed_ns = (*row)->changed_ns;
  const std::string key = (*row)->key;
  return put(
             std::move(*row), tenant, key,
             [&](json& document) { return mark_announced(document, number, outcome, now_ns); },
             changed_ns)
      .status();
}

}  // namespace headway::collector
