// How an object is cut into the parts of a multipart upload, and what the whole is called
// afterwards. The same size and option always give the same parts: an upload is resumed by another
// process from what the store has. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "object_store/hash.h"

namespace headway::object_store {

// The protocol's own.
inline constexpr std::uint64_t part_bytes_min = 5ULL << 20;
inline constexpr std::uint64_t part_bytes_max = 5ULL << 30;
inline constexpr std::uint64_t parts_max = 10'000;
inline constexpr std::uint64_t object_bytes_max = 5ULL << 40;

struct PartPlan {
  std::uint64_t bytes = 0;
  std::uint64_t part_bytes = 0;  // of all but the last

  [[nodiscard]] std::uint64_t parts() const {
    return bytes == 0 ? 1 : (bytes - 1) / part_bytes + 1;
  }
  [[nodiscard]] std::uint64_t begin(std::uint64_t index) const { return index * part_bytes; }
  [[nodiscard]] std::uint64_t size(std::uint64_t index) const {
    return std::min(part_bytes, bytes - begin(index));
  }
};
// A multiple of `wanted`, as large as needed to stay below the most parts there may be.
base::Result<PartPlan> plan_parts(std::uint64_t bytes, std::uint64_t wanted);

// The checksum of checksums ("…==-3") and the tag of tags ("…-3") by which stores call an object
// of several parts.
[[nodiscard]] std::string composite_crc32c(std::span<const std::uint32_t> parts);
[[nodiscard]] std::string composite_etag(std::span<const Md5> parts);

}  // namespace headway::object_store
