#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/crc32c.h"
#include "checkpoint/json_depth.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "headway-checkpoint";
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kTextBytesMax = 4096;
// The last field covers every byte before it.
constexpr std::string_view kSeal = ",\n\"crc32c\":\"";
constexpr std::string_view kEnd = "\"}\n";
constexpr std::size_t kSealDigits = 8;

std::string seal_of(std::string_view body) {
  return fmt::format("{:08x}", base::crc32c(body.data(), body.size()));
}

template <typename T>
bool take(const Json& object, const char* key, T& into) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return false;
  if (it->is_number_unsigned()) {
    const auto value = it->get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
    into = static_cast<T>(value);
    return true;
  }
  if (!std::numeric_limits<T>::is_signed) return false;
  into = static_cast<T>(it->get<std::int64_t>());
  return true;
}

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool take_file(const Json& json, ManifestFile& file) {
  if (!json.is_object()) return false;
  file.name = text_of(json, "name");
  if (!take(json, "bytes", file.bytes) || !take(json, "chunk_bytes", file.chunk_bytes) ||
      !take(json, "rank", file.rank) || !json.contains("crc32c") || !json["crc32c"].is_array()) {
    return false;
  }
  if (!is_file_name(file.name) || file.chunk_bytes < chunk_bytes_min ||
      file.chunk_bytes > chunk_bytes_max) {
    return false;
  }
  const std::uint64_t chunks =
      file.bytes / file.chunk_bytes + (file.bytes % file.chunk_bytes != 0 ? 1 : 0);
  if (json["crc32c"].size() != chunks) return false;
  for (const Json& number : json["crc32c"]) {
    if (!number.is_number_unsigned() ||
        number.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      return false;
    }
    file.crc32c.push_back(number.get<std::uint32_t>());
  }
  return true;
}

}  // namespace

std::uint64_t total_bytes(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ManifestFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

bool is_file_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || name.front() == '.') return false;
  if (name == manifest_name || name == anchor_name) return false;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) return false;
  }
  return true;
}

std::string to_text(const Manifest& manifest) {
  // Whoever knows nothing of bases must not take a delta for a whole one.
  const int version = manifest.base.empty() ? 1 : 2;
  std::string text = fmt::format("{{\"format\":\"{}\",\n\"version\":{}", kFormat, version);
  const auto line = [&](std::string_view key, const Json& value) {
    text +=
        fmt::format(",\n\"{}\":{}", key, value.dump(-1, ' ', true, Json::error_handler_t::replace));
  };
  line("step", manifest.step);
  line("data", manifest.data);
  line("world_size", manifest.world_size);
  line("job", manifest.job);
  line("attempt", manifest.attempt);
  line("time_ns", manifest.time_ns);
  if (!manifest.base.empty()) line("base", manifest.base);
  text += ",\n\"files\":[";
  for (const ManifestFile& file : manifest.files) {
    const Json json = {{"name", file.name},
                       {"bytes", file.bytes},
                       {"rank", file.rank},
                       {"chunk_bytes", file.chunk_bytes},
                       {"crc32c", file.crc32c}};
    text += (&file == manifest.files.data() ? "\n" : ",\n") + json.dump();
  }
  text += "]";
  const std::string seal = seal_of(text);
  return text.append(kSeal).append(seal).append(kEnd);
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return Status::corrupt(fmt::format("{}: not a good manifest: {}", path, what));
  };
  const std::size_t tail = kSeal.size() + kSealDigits + kEnd.size();
  if (text.size() <= tail || !text.ends_with(kEnd)) return bad("it is cut off");
  const std::string_view body = text.substr(0, text.size() - tail);
  const std::string_view seal = text.substr(body.size(), kSeal.size());
  if (seal != kSeal || text.substr(body.size() + seal.size(), kSealDigits) != seal_of(body)) {
    return bad("its checksum is another one");
  }
  if (nests_deeper(text)) return bad("it nests too deep");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || text_of(json, "format") != kFormat) return bad("it is something else");
  int version = 0;
  if (!take(json, "version", version) || version < 1) return bad("no version");
  if (version > manifest_version) {
    return Status(base::Code::unsupported,
                  fmt::format("{}: version {}, this Headway reads up to {}: take a newer one", path,
                              version, manifest_version));
  }
  Manifest manifest;
  if (!take(json, "step", manifest.step) || !take(json, "data", manifest.data) ||
      !take(json, "world_size", manifest.world_size) || !take(json, "attempt", manifest.attempt) ||
      !take(json, "time_ns", manifest.time_ns) || manifest.world_size == 0) {
    return bad("step, data, world_size, attempt or time_ns");
  }
  if (!json.contains("job") || !json["job"].is_string()) return bad("job");
  manifest.job = json["job"].get<std::string>();
  if (manifest.job.size() > kTextBytesMax) return bad("job");
  manifest.base = text_of(json, "base");
  if (json.contains("base") && !is_file_name(manifest.base)) return bad("base");
  if (!json.contains("files") || !json["files"].is_array() ||
      json["files"].size() > manifest_files_max) {
    return bad("files");
  }
  std::set<std::string> names;
  for (const Json& each : json["files"]) {
    ManifestFile file;
    if (!take_file(each, file)) return bad("a file's name, size or checksums");
    if (!names.insert(file.name).second) return bad("two files are called " + file.name);
    if (file.rank >= manifest.world_size) return bad(file.name + " is of no rank");
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

}  // namespace headway::checkpoint
