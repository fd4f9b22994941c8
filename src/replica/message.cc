#include "replica/message.h"

#include <array>
#include <nlohmann/json.hpp>

namespace headway::replica {
namespace {

using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 11> kSay = {"hello",   "reserve",  "look",        "bye",
                                                   "slots",   "whole",    "durable",     "failed",
                                                   "refused", "uploaded", "not_uploaded"};

// Missing ones keep what they are; one of another type spoils the packet.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}
  [[nodiscard]] bool good() const { return good_; }

  template <typename T>
  void number(const char* key, T& into, std::uint64_t max) {
    const auto it = json_.find(key);
    if (it == json_.end()) return;
    if (!it->is_number_unsigned() || it->template get<std::uint64_t>() > max) {
      good_ = false;
      return;
    }
    into = static_cast<T>(it->template get<std::uint64_t>());
  }
  void text(const char* key, std::string& into) {
    const auto it = json_.find(key);
    if (it == json_.end()) return;
    if (it->is_string()) into = it->get<std::string>();
    good_ = good_ && it->is_string();
  }
  void texts(const char* key, std::vector<std::string>& into, std::size_t max) {
    const auto it = json_.find(key);
    if (it == json_.end()) return;
    good_ = good_ && it->is_array() && it->size() <= max;
    for (std::size_t i = 0; good_ && i < it->size(); ++i) {
      good_ = (*it)[i].is_string();
      if (good_) into.push_back((*it)[i].get<std::string>());
    }
  }

 private:
  const Json& json_;
  bool good_ = true;
};

}  // namespace

std::string to_packet(const Message& message) {
  Json json = {{"say", kSay[static_cast<std::size_t>(message.say)]}, {"version", message.version}};
  const Message usual;
  const auto put = [&json](const char* key, const auto& value, const auto& as_usual) {
    if (value != as_usual) json[key] = value;
  };
  put("rank", message.rank, usual.rank);
  put("world_size", message.world_size, usual.world_size);
  put("local_world_size", message.local_world_size, usual.local_world_size);
  put("attempt", message.attempt, usual.attempt);
  put("run", message.run, usual.run);
  put("job", message.job, usual.job);
  put("folder", message.folder, usual.folder);
  put("keep_last", message.keep_last, usual.keep_last);
  put("keep_every_ns", message.keep_every_ns, usual.keep_every_ns);
  put("upload", message.upload, usual.upload);
  put("keep_uploaded", message.keep_uploaded, usual.keep_uploaded);
  put("bytes", message.bytes, usual.bytes);
  put("count", message.count, usual.count);
  put("rows_bytes", message.rows_bytes, usual.rows_bytes);
  put("rows_count", message.rows_count, usual.rows_count);
  put("step", message.step, usual.step);
  put("skipped", message.skipped, usual.skipped);
  put("nanoseconds", message.nanoseconds, usual.nanoseconds);
  put("text", message.text, usual.text);
  put("paths", message.paths, usual.paths);
  put("damaged", message.damaged, usual.damaged);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Message> parse_packet(std::string_view packet) {
  const Status bad = Status::corrupt("a packet that this version does not understand");
  if (packet.size() > packet_bytes_max) return bad;
  const Json json = Json::parse(packet, nullptr, false);
  if (!json.is_object()) return bad;
  Message message;
  std::string say;
  Fields fields(json);
  fields.text("say", say);
  fields.number("version", message.version, 1'000'000);
  fields.number("rank", message.rank, ranks_max - 1);
  fields.number("world_size", message.world_size, ranks_max);
  fields.number("local_world_size", message.local_world_size, ranks_max);
  fields.number("attempt", message.attempt, UINT64_MAX);
  fields.number("run", message.run, UINT64_MAX);
  fields.text("job", message.job);
  fields.text("folder", message.folder);
  fields.number("keep_last", message.keep_last, UINT32_MAX);
  fields.number("keep_every_ns", message.keep_every_ns, INT64_MAX);
  fields.number("bytes", message.bytes, UINT64_MAX);
  fields.text("upload", message.upload);
  fields.number("keep_uploaded", message.keep_uploaded, UINT32_MAX);
  fields.number("skipped", message.skipped, UINT32_MAX);
  fields.number("count", message.count, slots_max);
  fields.number("rows_bytes", message.rows_bytes, UINT64_MAX);
  fields.number("rows_count", message.rows_count, slots_max);
  fields.number("step", message.step, UINT64_MAX);
  fields.number("nanoseconds", message.nanoseconds, INT64_MAX);
  fields.text("text", message.text);
  fields.texts("paths", message.paths, slots_max);
  fields.texts("damaged", message.damaged, damaged_max);
  const auto* const found = std::find(kSay.begin(), kSay.end(), say);
  if (!fields.good() || found == kSay.end() || message.version != protocol_version) return bad;
  if (message.rank >= message.world_size || message.local_world_size > message.world_size ||
      message.local_world_size == 0) {
    return bad;
  }
  message.say = static_cast<Say>(found - kSay.begin());
  return message;
}

}  // namespace headway::replica
