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

}  // namespace headway::failure
