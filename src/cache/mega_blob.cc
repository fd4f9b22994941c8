#include "cache/mega_blob.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// zlib's CRC-32, eight bytes at a time.
std::uint32_t crc32(std::string_view data) {
  using Table = std::array<std::uint32_t, 256>;
  static const std::array<Table, 8> tables = [] {
    std::array<Table, 8> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
      made[0][i] = value;
    }
    for (std::size_t t = 1; t < made.size(); ++t) {
      for (std::size_t i = 0; i < 256; ++i) {
        made[t][i] = made[t - 1][i] >> 8 ^ made[0][made[t - 1][i] & 0xFF];
      }
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(data[i]); };
  while (data.size() >= 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      next ^= tables[7 - i][(byte(i) ^ crc >> (8 * i)) & 0xFF] ^ tables[3 - i][byte(4 + i)];
    }
    crc = next;
    data.remove_prefix(8);
  }
  for (std::size_t i = 0; i < data.size(); ++i) crc = crc >> 8 ^ tables[0][(crc ^ byte(i)) & 0xFF];
  return ~crc;
}

std::string base64(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t bytes = std::min<std::size_t>(3, text.size() - i);
    for (std::size_t b = 0; b < 3; ++b) {
      bits = bits << 8 | (b < bytes ? static_cast<unsigned char>(text[i + b]) : 0);
    }
    for (std::size_t d = 0; d < 4; ++d) {
      out += d <= bytes ? kDigits[bits >> (18 - 6 * d) & 63] : '=';
    }
  }
  return out;
}

// None: not what base64() writes. Python would read more, but nobody writes it.
std::optional<std::string> text_of_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return base64(out) == text ? std::optional(out) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}
  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }

  bool number(std::uint64_t& value) {
    if (rest_.size() < 8) return false;
    value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      value = value << 8 | static_cast<unsigned char>(rest_[i]);
    }
    rest_.remove_prefix(8);
    return true;
  }
  bool bytes(std::string_view& value) {
    std::uint64_t size = 0;
    if (!number(size) || size > rest_.size()) return false;
    value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool text(std::string& value) {
    std::string_view encoded;
    if (!bytes(encoded) || encoded.size() > blob_text_bytes_max) return false;
    auto decoded = text_of_base64(encoded);
    if (decoded) value = std::move(*decoded);
    return decoded.has_value();
  }

 private:
  std::string_view rest_;
};

void put_number(std::string& blob, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) blob += static_cast<char>(value >> shift & 0xFF);
}
void put_bytes(std::string& blob, std::string_view bytes) {
  put_number(blob, bytes.size());
  blob += bytes;
}

std::string_view take_chunk(Reader& reader, std::vector<MegaChunk>& chunks, std::size_t& total) {
  std::string type;
  std::uint64_t count = 0;
  if (!reader.text(type) || !reader.number(count)) return "a chunk's type or length";
  // Each artifact has two lengths at least.
  if (count > reader.left() / 16 || (total += count) > blob_artifacts_max)
    return "a chunk's length";
  if (chunks.size() == blob_chunks_max) return "too many chunks";
  MegaChunk& chunk = chunks.emplace_back(MegaChunk{.type = std::move(type), .artifacts = {}});
  for (std::uint64_t i = 0; i < count; ++i) {
    MegaArtifact artifact;
    if (!reader.text(artifact.key) || !reader.bytes(artifact.content)) return "an artifact";
    chunk.artifacts.push_back(std::move(artifact));
  }
  return "";
}

}  // namespace

Result<std::vector<MegaChunk>> parse_blob(std::string_view blob, const std::string& path) {
  const auto bad = [&](std::string_view what) {
    return Status::corrupt(fmt::format("{}: not a good MegaCache blob: {}", path, what));
  };
  if (blob.size() < kChecksumBytes + 8) return bad("it is cut off");
  std::uint32_t checksum = 0;
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    checksum = checksum << 8 | static_cast<unsigned char>(blob[i]);
  }
  if (crc32(blob.substr(kChecksumBytes)) != checksum) return bad("its checksum is another one");
  Reader reader(blob.substr(kChecksumBytes));
  std::uint64_t version = 0;
  HW_CHECK(reader.number(version));
  if (version != kVersion) {
    return Status(base::Code::unsupported,
                  fmt::format("{}: a MegaCache blob of version {}, this Headway reads {}: take a "
                              "newer one",
                              path, version, kVersion));
  }
  std::vector<MegaChunk> chunks;
  std::size_t total = 0;
  while (!reader.done()) {
    if (const auto fault = take_chunk(reader, chunks, total); !fault.empty()) return bad(fault);
  }
  return chunks;
}

std::string to_blob(const std::vector<MegaChunk>& chunks) {
  std::string blob(kChecksumBytes, '\0');
  put_number(blob, kVersion);
  for (const MegaChunk& chunk : chunks) {
    put_bytes(blob, base64(chunk.type));
    put_number(blob, chunk.artifacts.size());
    for (const MegaArtifact& artifact : chunk.artifacts) {
      put_bytes(blob, base64(artifact.key));
      put_bytes(blob, artifact.content);
    }
  }
  const std::uint32_t checksum = crc32(std::string_view(blob).substr(kChecksumBytes));
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    blob[i] = static_cast<char>(checksum >> (24 - 8 * i) & 0xFF);
  }
  return blob;
}

}  // namespace headway::cache
