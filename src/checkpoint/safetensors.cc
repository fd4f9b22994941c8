#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "checkpoint/json_depth.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLengthBytes = 8;
constexpr const char* kShardingKey = "DCP_SHARDING_INFO";

std::string length_bytes(std::uint64_t value) {
  std::string bytes(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes[i] = static_cast<char>(value >> (8 * i) & 0xff);
  }
  return bytes;
}

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

Status check_piece(const Piece& piece) {
  if (piece.name.empty() || piece.name.size() > tensor_name_bytes_max ||
      piece.name == "__metadata__" || !is_utf8(piece.name)) {
    return Status::invalid(fmt::format("tensor name '{}' cannot be stored", piece.name));
  }
  if (piece.shape.size() > dimensions_max || piece.offsets.size() != piece.shape.size()) {
    return Status::invalid(fmt::format("{}: {} dimensions and {} offsets", piece.name,
                                       piece.shape.size(), piece.offsets.size()));
  }
  if (!bytes_of_shape(piece.dtype, piece.shape)) {
    return Status::invalid(piece.name + ": too large");
  }
  return {};
}

// The power of two that its size is a multiple of, a page at most. In falling order each piece lies
// at a multiple of its own, without the holes that the format forbids: large tensors come to lie as
// a program would have allocated them.
std::uint64_t grain(const Piece& piece) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t bytes = *bytes_of_shape(piece.dtype, piece.shape) | kPage;
  return bytes & (~bytes + 1);
}

// The parser's side: one header, one place to say what is wrong with it.
class Reader {
 public:
  Reader(std::string_view head, std::uint64_t file_bytes, const std::string& path)
      : head_(head), path_(path) {
    header_.data_begin = head.size();
    header_.file_bytes = file_bytes;
  }

  Result<SafetensorsHeader> read() {
    // The parser would quietly take the last of two.
    std::string twice;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::key && depth == 1 &&
          !names_.insert(parsed.get<std::string>()).second) {
        twice = parsed.get<std::string>();
      }
      return true;
    };
    if (nests_deeper(head_.substr(kLengthBytes))) return bad("its header nests too deep");
    const Json root = Json::parse(head_.substr(kLengthBytes), watch, false);
    if (!root.is_object()) return bad("its header is no JSON object");
    if (!twice.empty()) return bad("two tensors are called " + twice);
    if (root.size() > tensors_max + 1) return bad("too many tensors");
    for (const auto& [name, value] : root.items()) {
      Status status = name == "__metadata__" ? take_metadata(value) : take_tensor(name, value);
      if (!status.ok()) return status;
    }
    if (Status status = check_cover(); !status.ok()) return status;
    if (Status status = take_offsets(); !status.ok()) return status;
    return std::move(header_);
  }

 private:
  [[nodiscard]] Status bad(const std::string& what) const {
    return Status::corrupt(path_ + ": not a good safetensors file: " + what);
  }

  Status take_metadata(const Json& value) {
    if (!value.is_object()) return bad("__metadata__ is no object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) return bad("__metadata__ holds more than texts");
      header_.metadata[key] = text.get<std::string>();
    }
    return {};
  }

  Status take_tensor(const std::string& name, const Json& value) {
    if (name.empty() || name.size() > tensor_name_bytes_max) return bad("a tensor's name");
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
      return bad(name + " lacks dtype, shape or data_offsets");
    }
    StoredPiece stored;
    stored.piece.name = name;
    const auto dtype =
        value["dtype"].is_string() ? dtype_of(value["dtype"].get<std::string>()) : std::nullopt;
    if (!dtype) return bad(name + " has a type that is not known");
    stored.piece.dtype = *dtype;
    std::vector<std::uint64_t> range;
    if (!take_numbers(value["shape"], dimensions_max, stored.piece.shape) ||
        !take_numbers(value["data_offsets"], 2, range) || range.size() != 2) {
      return bad(name + ": shape or data_offsets");
    }
    const auto bytes = bytes_of_shape(*dtype, stored.piece.shape);
    const std::uint64_t data_bytes = header_.file_bytes - header_.data_begin;
    if (!bytes || range[0] > range[1] || range[1] > data_bytes || range[1] - range[0] != *bytes) {
      return bad(fmt::format("{} lies from {} to {} of {} bytes, which its shape does not fill",
                             name, range[0], range[1], data_bytes));
    }
    stored.begin = header_.data_begin + range[0];
    stored.end = header_.data_begin + range[1];
    stored.piece.offsets.assign(stored.piece.shape.size(), 0);
    header_.pieces.push_back(std::move(stored));
    return {};
  }

  static bool take_numbers(const Json& value, std::size_t max, std::vector<std::uint64_t>& into) {
    if (!value.is_array() || value.size() > max) return false;
    for (const Json& number : value) {
      if (!number.is_number_unsigned()) return false;
      into.push_back(number.get<std::uint64_t>());
    }
    return true;
  }

  // The format allows neither holes nor tensors that share bytes.
  Status check_cover() {
    std::stable_sort(header_.pieces.begin(), header_.pieces.end(),
                     [](const StoredPiece& a, const StoredPiece& b) {
                       return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                     });
    std::uint64_t at = header_.data_begin;
    for (const StoredPiece& stored : header_.pieces) {
      if (stored.begin != at) return bad("a hole or an overlap before " + stored.piece.name);
      at = stored.end;
    }
    return at == header_.file_bytes ? Status() : bad("bytes behind the last tensor");
  }

  Status take_offsets() {
    const auto it = header_.metadata.find(kShardingKey);
    if (it == header_.metadata.end()) return {};
    const Json info = nests_deeper(it->second) ? Json() : Json::parse(it->second, nullptr, false);
    if (!info.is_object()) return bad(std::string(kShardingKey) + " is no JSON object");
    for (StoredPiece& stored : header_.pieces) {
      const auto found = info.find(stored.piece.name);
      if (found == info.end()) continue;
      std::vector<std::uint64_t> offsets;
      if (!found->is_object() || !found->contains("saved_offsets") ||
          !take_numbers((*found)["saved_offsets"], dimensions_max, offsets) ||
          offsets.size() != stored.piece.shape.size()) {
        return bad(stored.piece.name + ": saved_offsets");
      }
      stored.piece.offsets = std::move(offsets);
    }
    return {};
  }

  const std::string_view head_;
  const std::string& path_;
  SafetensorsHeader header_;
  std::set<std::string> names_;
};

}  // namespace

Result<SafetensorsPlan> plan_safetensors(const std::vector<Piece>& pieces,
                                         std::uint64_t alignment) {
  HW_CHECK(alignment >= kLengthBytes && (alignment & (alignment - 1)) == 0);
  if (pieces.size() > tensors_max) return Status::invalid("too many tensors for one file");
  std::vector<const Piece*> order;
  std::set<std::string_view> names;
  for (const Piece& piece : pieces) {
    if (Status status = check_piece(piece); !status.ok()) return status;
    if (!names.insert(piece.name).second) {
      return Status::invalid("two tensors are called " + piece.name);
    }
    order.push_back(&piece);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Piece* a, const Piece* b) { return grain(*a) > grain(*b); });
  SafetensorsPlan plan;
  Json sharding = Json::object();
  Json root = Json::object();
  root["__metadata__"] = Json::object();
  std::uint64_t at = 0;
  for (const Piece* piece : order) {
    const std::uint64_t bytes = *bytes_of_shape(piece->dtype, piece->shape);
    if (at + bytes < at || at + bytes > (std::uint64_t{1} << 62)) {
      return Status::invalid(piece->name + ": the file would be too large");
    }
    root[piece->name] = {{"dtype", name_of(piece->dtype)},
                         {"shape", piece->shape},
                         {"data_offsets", {at, at + bytes}}};
    sharding[piece->name] = {{"saved_offsets", piece->offsets}};
    plan.header.pieces.push_back({*piece, at, at + bytes});
    at += bytes;
  }
  plan.header.metadata = {
      {kShardingKey, sharding.dump()}, {"DCP_VERSION", "1.0"}, {"format", "pt"}};
  for (const auto& [key, value] : plan.header.metadata) root["__metadata__"][key] = value;
  std::string text = root.dump();
  const std::uint64_t padded =
      (kLengthBytes + text.size() + alignment - 1) / alignment * alignment - kLengthBytes;
  if (padded > safetensors_header_bytes_max)
    return Status::invalid("the header would be too large");
  text.resize(static_cast<std::size_t>(padded), ' ');
  plan.head = length_bytes(padded) + text;
  plan.header.data_begin = plan.head.size();
  plan.header.file_bytes = plan.header.data_begin + at;
  for (StoredPiece& stored : plan.header.pieces) {
    stored.begin += plan.header.data_begin;
    stored.end += plan.header.data_begin;
  }
  return plan;
}

Result<std::uint64_t> safetensors_head_bytes(std::string_view first_eight, std::uint64_t file_bytes,
                                             const std::string& path) {
  if (first_eight.size() != kLengthBytes || file_bytes < kLengthBytes) {
    return Status::corrupt(path + ": too short for a safetensors file");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(first_eight[i])} << (8 * i);
  }
  if (length < 2 || length > safetensors_header_bytes_max || length > file_bytes - kLengthBytes) {
    return Status::corrupt(fmt::format("{}: a safetensors header of {} bytes in a file of {}", path,
                                       length, file_bytes));
  }
  return kLengthBytes + length;
}

Result<SafetensorsHeader> parse_safetensors(std::string_view head, std::uint64_t file_bytes,
                                            const std::string& path) {
  auto bytes = safetensors_head_bytes(head.substr(0, kLengthBytes), file_bytes, path);
  if (!bytes.ok()) return bytes.status();
  if (*bytes != head.size()) return Status::corrupt(path + ": its header was cut");
  return Reader(head, file_bytes, path).read();
}

}  // namespace headway::checkpoint
