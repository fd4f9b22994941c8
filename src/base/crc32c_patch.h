// CRC32C is linear: when a part of a text changes, the whole's checksum follows from the part's,
// the old and the new, and from how many bytes lie behind it. Pure; any thread.
//
//   crc32c(whole, with b in a's place) ==
//       crc32c(whole) ^ crc32c_times(crc32c(a) ^ crc32c(b), crc32c_power(bytes behind them))
#pragma once

#include <cstdint>

namespace headway::base {

// What `bytes` more bytes make of a checksum, as a factor. Logarithmic: keep it where many parts
// lie at the same distance, or step from one to the next with crc32c_times().
[[nodiscard]] std::uint32_t crc32c_power(std::uint64_t bytes);
[[nodiscard]] std::uint32_t crc32c_times(std::uint32_t a, std::uint32_t b);

}  // namespace headway::base
