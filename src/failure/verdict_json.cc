#include "failure/verdict_json.h"

namespace headway::failure {

nlohmann::ordered_json verdict_json(const Verdict& v) {
  using Json = nlohmann::ordered_json;
  return {{"category", v.category},
          {"role", std::string(role_name(v.role))},
          {"origin", v.origin},
          {"retryable", v.retryable},
          {"elsewhere", v.elsewhere},
          {"confidence", v.confidence},
          {"rank", v.rank == kNoRank ? Json() : Json(v.rank)},
          {"proof", v.proof},
          {"rule", v.rule},
          {"next", v.next}};
}

Verdict verdict_from_json(const nlohmann::ordered_json& json) {
  Verdict v;
  v.category = json.value("category", "unknown");
  const std::string role = json.value("role", "");
  for (const Role each : {Role::cause, Role::symptom, Role::outcome}) {
    if (role == role_name(each)) v.role = each;
  }
  v.origin = json.value("origin", "unknown");
  v.retryable = json.value("retryable", false);
  v.elsewhere = json.value("elsewhere", false);
  v.confidence = json.value("confidence", 0.0);
  if (json.contains("rank") && json["rank"].is_number_integer()) v.rank = json["rank"].get<int>();
  v.proof = json.value("proof", "");
  v.rule = json.value("rule", "");
  v.next = json.value("next", "");
  return v;
}

}  // namespace headway::failure
