// What the bodies of good answers say. Everything is checked, because it is somebody else's text:
// what is missing, negative, too long or of another name is an error that says which. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::object_store {

inline constexpr std::size_t key_bytes_max = 1024;

struct ObjectEntry {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag;           // without quotes
  std::string modified = {};  // as the server wrote it: "2026-01-01T00:00:00.000Z"; may be empty
};
struct ListPage {
  std::vector<ObjectEntry> objects;
  std::vector<std::string> prefixes;  // what was cut at the delimiter, with it
  std::string next;                   // the continuation; empty: this was the last page
};
base::Result<ListPage> parse_list(std::string_view body);

struct UploadEntry {
  std::string key;
  std::string id;
  std::string initiated = {};  // as the server wrote it; later ones compare greater
  std::string checksum = {};   // "CRC32C"; empty: not said
};
struct UploadsPage {
  std::vector<UploadEntry> uploads;
  std::string next_key, next_id;
  bool more = false;
};
base::Result<UploadsPage> parse_uploads(std::string_view body);

struct PartEntry {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  std::string etag;
  std::optional<std::uint32_t> crc32c;
};
struct PartsPage {
  std::vector<PartEntry> parts;
  std::uint32_t next = 0;
  bool more = false;
};
base::Result<PartsPage> parse_parts(std::string_view body);

base::Result<std::string> parse_upload_id(std::string_view body);
// The tag of the object that came to be.
base::Result<std::string> parse_completed(std::string_view body);

struct NotDeleted {
  std::string key;
  std::string code;
};
base::Result<std::vector<NotDeleted>> parse_deleted(std::string_view body);

// Without quotes and a "W/" in front.
[[nodiscard]] std::string plain_etag(std::string_view text);

}  // namespace headway::object_store
