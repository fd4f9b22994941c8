#include "autotune/feedback_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "autotune/json_value.h"
#include "autotune/tame_json.h"

namespace headway::autotune {
namespace {

using base::Result;
using base::Status;

Status read_head(const dom::element& root, Observation& one) {
  const std::int64_t version = dom::number(root, "v", -1);
  if (version < 0) return Status::invalid("has no \"v\"; it is not a line of autotuning feedback");
  if (version != kFeedbackVersion) {
    return Status::invalid(
        fmt::format("is of version {}; this program reads version {}", version, kFeedbackVersion));
  }
  const std::string_view kind = dom::text(root, "kind");
  if (kind != "triton" && kind != "inductor") {
    return Status::invalid("\"kind\" is neither \"triton\" nor \"inductor\"");
  }
  one.framework = kind == "triton" ? Framework::triton : Framework::inductor;
  one.kernel = dom::text(root, "kernel", kNameBytesMax);
  if (one.kernel.empty()) return Status::invalid("has no \"kernel\"");
  one.hardware = dom::text(root, "hardware", kNameBytesMax);
  one.software = dom::text(root, "software", kNameBytesMax);
  one.source = dom::text(root, "source", kNameBytesMax);
  dom::element key;
  if (!root.at_key("key").get(key)) one.shape_class = class_of_key(key);
  dom::array names;
  if (!root.at_key("key_names").get_array().get(names) && names.size() <= kKeyValuesMax) {
    for (const dom::element name : names) {
      std::string_view text;
      if (!name.get_string().get(text)) {
        one.key_names.emplace_back(base::cut_text(text, kNameBytesMax));
      }
    }
  }
  if (root.at_key("pruned").get_bool().get(one.pruned)) one.pruned = false;
  double seconds = 0;
  if (!root.at_key("tuning_s").get_double().get(seconds) && seconds >= 0 &&
      seconds < static_cast<double>(kTuningNsMax) / 1e9) {
    one.tuning_ns = std::llround(seconds * 1e9);
  }
  return {};
}

}  // namespace

Result<Feedback> parse_feedback(std::string_view line) {
  if (line.size() > kLineBytesMax) return Status::invalid("is longer than 4 MiB");
  Feedback out;
  dom::parser parser;
  dom::element root;
  const std::string tame = tame_json(line);
  if (parser.parse(tame).get(root)) return Status::invalid("is not JSON; it may have been cut off");
  if (const Status status = read_head(root, out.observation); !status.ok()) return status;
  dom::array configs;
  if (root.at_key("configs").get_array().get(configs)) return Status::invalid("has no \"configs\"");
  std::unordered_set<std::string_view> seen;
  for (const dom::element entry : configs) {
    std::string_view text;
    dom::element time;
    if (entry.at(0).get_string().get(text) || entry.at(1).get(time)) {
      return Status::invalid("an entry of \"configs\" is not [text, milliseconds]");
    }
    const auto time_ms = time_of(time);
    if (!time_ms || text.size() > kConfigBytesMax || text.empty() ||
        out.observation.configs.size() >= kConfigsMax || !seen.insert(text).second) {
      ++out.left_out;
      continue;
    }
    out.observation.configs.push_back({std::string(text), *time_ms});
  }
  if (out.observation.configs.empty()) return Status::invalid("no configuration in it has a time");
  return out;
}

}  // namespace headway::autotune
