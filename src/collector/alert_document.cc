#include "collector/alert_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fleet/selection.h"

namespace headway::collector {

using nlohmann::json;

namespace {

json terms_json(const regress::Dip& dip) {
  json out = json::array();
  for (const regress::DipTerm& term : dip.terms) {
    out.push_back({{"name", term.name},
                   {"label", term.label},
                   {"kind", regress::term_kind_name(term.kind)},
                   {"delta_pct", term.delta_pct}});
  }
  return out;
}

json separators_json(const std::vector<regress::Separator>& separators) {
  json out = json::array();
  for (const regress::Separator& each : separators) {
    out.push_back({{"field", each.field},
                   {"value", each.value},
                   {"before_pct", each.before_pct},
                   {"after_pct", each.after_pct},
                   {"score", each.score}});
  }
  return out;
}

template <typename T>
T field(const json& document, const char* name, T otherwise) {
  const auto found = document.find(name);
  if (found == document.end()) return otherwise;
  if constexpr (std::is_arithmetic_v<T>) {
    return found->is_number() ? found->get<T>() : otherwise;
  } else {
    return found->is_string() ? found->get<T>() : otherwise;
  }
}

}  // namespace

bool is_gone(const json& document) {
  return field<std::string>(document, "state", "gone") == "gone";
}

json alert_document(const regress::Regression& regression,
                    const std::vector<NamedAttempt>& attempts, const json& before,
                    std::int64_t now_ns) {
  json stratum = json::object();
  for (const auto& [dimension, value] : regression.stratum) {
    stratum[std::string(fleet::dimension_name(dimension))] = value;
  }
  json named = json::array();
  for (const NamedAttempt& each : attempts) {
    named.push_back({{"job", each.job}, {"attempt", each.attempt}});
  }
  const bool known = before.is_object();
  const bool back = known && is_gone(before) && regression.verdict == regress::Verdict::open;
  const json acknowledged =
      known && !back && before.contains("acknowledged") ? before["acknowledged"] : json();
  const std::int64_t found_ns =
      known ? field(before, "found_ns", regression.found_ns) : regression.found_ns;
  json out = {{"key", regression.key},
              {"component", regress::component_name(regression.component)},
              {"label", regress::component_label(regression.component)},
              {"unit", regress::component_unit(regression.component.kind)},
              {"stratum", std::move(stratum)},
              {"members", regression.members},
              {"began_day", fleet::day_text(regression.began_day)},
              {"began_ns", regression.began_ns},
              {"began_low_ns", regression.began_low_ns},
              {"began_high_ns", regression.began_high_ns},
              {"found_ns", found_ns},
              {"before", regression.before},
              {"after", regression.after},
              {"change_pct", regression.change_pct},
              {"device_hours_per_day", regression.device_hours_per_day},
              {"q_value", regression.q_value},
              {"acknowledged", acknowledged},
              {"state", acknowledged.is_null() ? "open" : "acknowledged"},
              {"terms", terms_json(regression.dip)},
              {"dip_pct", regression.dip.delta_pct},
              {"separates", separators_json(regression.separates)},
              {"attempts", std::move(named)},
              {"time_to_alert_s", static_cast<double>(found_ns - regression.began_ns) / 1e9}};
  if (known && before.contains("announcement")) out["announcement"] = before["announcement"];
  if (back) {
    out["back_ns"] = now_ns;
  } else if (known && before.contains("back_ns")) {
    out["back_ns"] = before["back_ns"];
  }
  // One that turns out to be a shift, a mix or preemptions is none any more.
  if (regression.verdict != regress::Verdict::open) mark_gone(out, now_ns);
  if (known && is_gone(before) && is_gone(out)) out["gone_ns"] = before.value("gone_ns", now_ns);
  return out;
}

void mark_gone(json& document, std::int64_t now_ns) {
  document["state"] = "gone";
  document["gone_ns"] = now_ns;
}

void mark_acknowledged(json& document, const std::string& by, const std::string& note,
                       std::int64_t now_ns) {
  document["acknowledged"] = {{"by", by}, {"note", note}, {"at_ns", now_ns}};
  if (!is_gone(document)) document["state"] = "acknowledged";
}

namespace {

// An object, empty where there is none.
json announcement_of(const json& document) {
  const auto found = document.find("announcement");
  return found != document.end() && found->is_object() ? *found : json::object();
}

}  // namespace

void plan_announcement(json& document, double from, std::int64_t now_ns) {
  const json last = announcement_of(document);
  const bool open_is_told = field<std::string>(last, "state", "") == "open";
  if (is_gone(document) != open_is_told) return;  // what was last told of is still true
  if (!is_gone(document) && field(document, "device_hours_per_day", 0.0) < from) return;
  document["announcement"] = {{"number", field<std::int64_t>(last, "number", 0) + 1},
                              {"state", is_gone(document) ? "gone" : "open"},
                              {"since_ns", now_ns},
                              {"outcome", "waiting"}};
}

bool waits_for_announcement(const json& document) {
  return field<std::string>(announcement_of(document), "outcome", "") == "waiting";
}

WebhookMessage announcement(const store::AlertRow& row) {
  json document = json::parse(row.document, nullptr, false);
  const json waits = announcement_of(document);
  WebhookMessage out;
  out.tenant = row.tenant;
  out.alert = row.id;
  out.announcement_number = field<std::int64_t>(waits, "number", 0);
  out.since_ns = field<std::int64_t>(waits, "since_ns", 0);
  out.id = fmt::format("{}-{}-{}", row.tenant, row.id, out.announcement_number);
  document.erase("members");
  document.erase("announcement");
  const json body = {{"event", "regression"},
                     {"tenant", row.tenant},
                     {"id", row.id},
                     {"number", out.announcement_number},
                     {"state", field<std::string>(waits, "state", "")},
                     {"regression", std::move(document)}};
  out.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return out;
}

bool mark_announced(json& document, std::int64_t number, const std::string& outcome,
                    std::int64_t now_ns) {
  if (!document.is_object() || !waits_for_announcement(document)) return false;
  json& announcement = document["announcement"];
  if (field<std::int64_t>(announcement, "number", 0) != number) return false;
  announcement["outcome"] = outcome;
  announcement["at_ns"] = now_ns;
  return true;
}

std::optional<regress::Known> known_of(const json& document) {
  regress::Known known;
  known.key = field<std::string>(document, "key", "");
  const auto day = fleet::parse_day(field<std::string>(document, "began_day", ""));
  if (known.key.empty() || !day) return std::nullopt;
  known.began_day = *day;
  const auto low_ns = field<std::int64_t>(document, "began_low_ns", 0);
  const auto high_ns = field<std::int64_t>(document, "began_high_ns", 0);
  if (low_ns != 0) known.low_day = fleet::day_of(low_ns);
  if (high_ns != 0) known.high_day = fleet::day_of(high_ns);
  known.found_ns = field<std::int64_t>(document, "found_ns", 0);
  known.q_value = field<double>(document, "q_value", 1.0);
  if (const auto members = document.find("members");
      members != document.end() && members->is_array()) {
    for (const json& member : *members) {
      if (member.is_string()) known.members.push_back(member.get<std::string>());
    }
  }
  return known;
}

}  // namespace headway::collector
