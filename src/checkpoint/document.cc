#include "checkpoint/document.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/json_depth.h"
#include "checkpoint/parts.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr int kDepthMax = 500;  // of what users nest

Result<Json> parse(const std::string& text, const std::string& place) {
  Json json = nests_deeper(text, kDepthMax) ? Json(Json::value_t::discarded)
                                            : Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("parts") && json["parts"].is_object()) return json;
  return Status::corrupt(place + ": is not the state of a rank");
}

std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Every value that holds no other, by its place.
void flatten(const Json& json, const std::string& name, std::map<std::string, std::string>& out) {
  if (!json.is_structured() || json.empty()) {
    out[name] = dump(json);
    return;
  }
  std::size_t index = 0;
  for (const auto& item : json.items()) {
    const std::string key = json.is_array() ? std::to_string(index++) : item.key();
    flatten(item.value(), name.empty() ? key : name + "." + key, out);
  }
}

bool is_tensor(const Json& json) {
  return json.is_object() && json.size() == 1 &&
         (json.contains("$tensor") || json.contains("$array") || json.contains("$parameter"));
}

Json without_tensors(const Json& json) {
  if (!json.is_structured()) return json;
  Json out = json.is_array() ? Json::array() : Json::object();
  for (const auto& item : json.items()) {
    if (is_tensor(item.value())) continue;
    Json kept = without_tensors(item.value());
    if (kept.is_structured() && kept.empty() && !item.value().empty()) continue;
    if (json.is_array()) {
      out.push_back(std::move(kept));
    } else {
      out[item.key()] = std::move(kept);
    }
  }
  return out;
}

}  // namespace

bool is_document(std::string_view name) {
  return name.starts_with("headway.rank-");
}

Result<std::string> read_document(const CheckpointReader& reader, const TensorInfo& info) {
  const std::string place = reader.path() + ": " + info.name;
  if (info.dtype != DType::u8 || info.shape.size() != 1 || info.bytes > document_bytes_max) {
    return Status::corrupt(fmt::format("{}: U8 of one dimension, up to {} MiB, is wanted", place,
                                       document_bytes_max >> 20));
  }
  std::string text(info.bytes, ' ');
  const std::span<std::byte> into(reinterpret_cast<std::byte*>(text.data()), text.size());
  Status status = reader.read_all({{info.name, whole_box(info.shape), into}});
  if (!status.ok()) return status;
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

Result<std::string> placed_document(const std::string& text, const std::string& path,
                                    const std::string& name) {
  const auto json = parse(text, path + ": " + name);
  if (!json.ok()) return json.status();
  // By its text: integers of more than 64 bits are not ours to round.
  return fmt::format("{{\"path\": {}, {}\n", dump(Json(path)), text.substr(text.find('{') + 1));
}

Result<std::string> pretty_document(const std::string& text, const std::string& path,
                                    const std::string& name) {
  auto json = parse(text, path + ": " + name);
  if (!json.ok()) return json.status();
  Json pretty = {{"$checkpoint", path}};  // no part has such a name: those with $ are tags
  pretty.update(without_tensors((*json)["parts"]));
  return dump(pretty, 2) + "\n";
}

Result<std::vector<DocumentDifference>> compare_documents(const std::string& a,
                                                          const std::string& b,
                                                          const std::string& place,
                                                          std::set<std::string>& parts) {
  std::map<std::string, std::string> sides[2];
  const std::string* texts[] = {&a, &b};
  for (int side = 0; side < 2; ++side) {
    auto json = parse(*texts[side], place);
    if (!json.ok()) return json.status();
    for (const auto& part : (*json)["parts"].items()) parts.insert(part.key());
    flatten((*json)["parts"], "", sides[side]);
  }
  std::vector<DocumentDifference> out;
  for (const auto& [name, value] : sides[0]) {
    const auto other = sides[1].find(name);
    const std::string there = other == sides[1].end() ? "" : other->second;
    if (there != value) out.push_back({name, value, there});
  }
  for (const auto& [name, value] : sides[1]) {
    if (!sides[0].contains(name)) out.push_back({name, "", value});
  }
  return out;
}

}  // namespace headway::checkpoint
