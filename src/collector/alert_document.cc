#include "collector/alert_document.h"

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
  const json acknowledged =
      known && before.contains("acknowledged") ? before["acknowledged"] : json();
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

std::optional<regress::Known> known_of(const json& document) {
  regress::Known known;
  known.key = field<std::string>(document, "key", "");
  const auto day = fleet::parse_day(field<std::string>(document, "began_day", ""));
  if (known.key.empty() || !day) return std::nullopt;
  known.began_day = *day;
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
