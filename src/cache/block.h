// One block of an archive: contents that are compressed together with zstd, or stored as they are
// where that is no longer, and where a reader would take the result for a bomb. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/format.h"

namespace headway::cache {

inline constexpr int zstd_level = 2;  // a third less time than 3, a twentieth more bytes

struct PackedBlock {
  BlockRecord record{};
  std::vector<std::byte> stored;
};
// Of 1 to block_raw_bytes_max bytes.
[[nodiscard]] PackedBlock pack_block(std::span<const std::byte> raw);

// `stored`: as long as the record says; `into`: as long as it says, too. The digest is compared.
// Errors name `path`.
base::Status unpack_block(const BlockRecord& record, std::span<const std::byte> stored,
                          std::span<std::byte> into, const std::string& path);
// The digest only.
base::Status check_block(const BlockRecord& record, std::span<const std::byte> stored,
                         const std::string& path);

}  // namespace headway::cache
