#include "autotune/best_config.h"

#include "autotune/json_value.h"
#include "autotune/observation.h"
#include "autotune/tame_json.h"

namespace headway::autotune {

using base::Result;
using base::Status;

Result<BestConfig> parse_best_config(std::string_view json) {
  if (json.size() > kBestConfigBytesMax) return Status::invalid("larger than 1 MiB");
  dom::parser parser;
  dom::element root;
  const std::string tame = tame_json(json);
  if (parser.parse(tame).get(root)) return Status::invalid("not JSON; it may have been cut off");
  const std::int64_t time_ms = dom::number(root, "time_taken_ms", -1);
  if (dom::text(root, "configs_hash").empty()) {
    return Status::invalid("has no \"configs_hash\"; inductor did not write it");
  }
  BestConfig out;
  if (time_ms > 0 && time_ms < kTuningNsMax / 1'000'000) out.tuning_ns = time_ms * 1'000'000;
  if (root.at_key("found_by_coordesc").get_bool().get(out.by_coordinate_descent)) {
    out.by_coordinate_descent = false;
  }
  return out;
}

}  // namespace headway::autotune
