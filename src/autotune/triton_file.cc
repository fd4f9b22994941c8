#include "autotune/triton_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "autotune/json_value.h"
#include "autotune/tame_json.h"

namespace headway::autotune {

using base::Result;
using base::Status;

std::string class_of_key(const dom::element& key) {
  dom::array values;
  if (key.get_array().get(values) || values.size() == 0 || values.size() > kKeyValuesMax) return "";
  std::string out;
  for (const dom::element value : values) {
    const auto text = value_text(value, true);
    if (!text) return "";
    out += out.empty() ? "" : " ";
    out += *text;
    if (out.size() > kConfigBytesMax) return "";
  }
  return out;
}

std::optional<double> time_of(const dom::element& value) {
  double time = 0;
  if (value.is_null()) return std::numeric_limits<double>::infinity();
  if (value.get_double().get(time) || !(time >= 0)) return std::nullopt;
  return time;
}

namespace {

// "BLOCK_M=64 num_ctas=1 num_warps=4", as python/headway/_pins.py's config_text: sorted by name.
std::optional<std::string> config_text(const dom::element& config) {
  dom::object meta;
  if (config.at_key("kwargs").get_object().get(meta)) return std::nullopt;
  std::map<std::string_view, std::string> parts;
  for (const auto field : meta) {
    const auto text = value_text(field.value, false);
    if (!text) return std::nullopt;
    parts.insert_or_assign(field.key, *text);
  }
  for (const std::string_view name :
       {"num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override"}) {
    dom::element value;
    if (config.at_key(name).get(value) || value.is_null()) continue;
    const auto text = value_text(value, false);
    if (!text) return std::nullopt;
    parts.insert_or_assign(name, *text);
  }
  std::string out;
  for (const auto& [name, text] : parts) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, text);
    if (out.size() > kConfigBytesMax) return std::nullopt;
  }
  return out;
}

}  // namespace

Result<TritonTuning> parse_triton_tuning(std::string_view file_name, std::string_view json) {
  TritonTuning out;
  Observation& one = out.observation;
  if (!file_name.ends_with(kTritonSuffix)) return Status::invalid("not named *.autotune.json");
  file_name.remove_suffix(kTritonSuffix.size());
  one.kernel = base::cut_text(file_name, kNameBytesMax);
  if (json.size() > kFileBytesMax) return Status::invalid("larger than 16 MiB");
  dom::parser parser;
  dom::element root;
  const std::string tame = tame_json(json);
  if (parser.parse(tame).get(root)) return Status::invalid("not JSON; it may have been cut off");
  dom::array timings;
  if (root.at_key("configs_timings").get_array().get(timings)) {
    return Status::invalid("has no list \"configs_timings\"; Triton did not write it");
  }
  dom::element key;
  if (!root.at_key("key").get(key)) one.shape_class = class_of_key(key);
  std::unordered_set<std::string> seen;
  for (const dom::element entry : timings) {
    dom::element config, time;
    if (entry.at(0).get(config) || entry.at(1).get(time)) {
      return Status::invalid("a timing is not [configuration, [times]]");
    }
    dom::array quantiles;  // median, 20%, 80%; a single number where do_bench gave one
    if (!time.get_array().get(quantiles) && quantiles.at(0).get(time)) {
      return Status::invalid("a configuration has no time");
    }
    const auto text = config_text(config);
    const auto time_ms = time_of(time);
    if (!text || !time_ms || one.configs.size() >= kConfigsMax || !seen.insert(*text).second) {
      ++out.left_out;
      continue;
    }
    one.configs.push_back({*text, *time_ms});
  }
  if (one.configs.empty()) return Status::invalid("no configuration in it has a time");
  return out;
}

TritonTarget target_of(std::string_view json) {
  TritonTarget out;
  if (json.size() > kFileBytesMax) return out;
  dom::parser parser;
  dom::element root, target;
  const std::string tame = tame_json(json);
  if (parser.parse(tame).get(root) || root.at_key("target").get(target)) return out;
  const std::string_view backend = dom::text(target, "backend");
  const std::string_view name = dom::text(target, "arch");  // of AMD; NVIDIA has a number
  const std::int64_t number = dom::number(target, "arch", -1);
  if (backend.empty() || backend.size() + name.size() > kNameBytesMax) return out;
  if (name.empty() && number < 0) return out;
  out.hardware =
      name.empty() ? fmt::format("{}:{}", backend, number) : fmt::format("{}:{}", backend, name);
  const std::string version = dom::text(root, "triton_version", kNameBytesMax - 10);
  if (!version.empty()) out.software = "triton " + version;
  return out;
}

}  // namespace headway::autotune
