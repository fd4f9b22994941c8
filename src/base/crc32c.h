// CRC32C (Castagnoli), by the processor's own instruction where it has one. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway::base {

// Of `bytes` at `data`, continuing from `crc` (0 to begin). crc32c("123456789") == 0xE3069283.
[[nodiscard]] std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t crc = 0);

// The same of `from`, while it is copied to `to`: the copy's price, not a second pass over memory.
// Large copies go past the cache, which they would only wash out; they are seen by other threads
// after this returns, as any store.
[[nodiscard]] std::uint32_t copy_crc32c(void* to, const void* from, std::size_t bytes,
                                        std::uint32_t crc = 0);

// The table version, for processors without the instruction and for the test that compares both.
[[nodiscard]] std::uint32_t crc32c_portable(const void* data, std::size_t bytes,
                                            std::uint32_t crc = 0);

}  // namespace headway::base
