// Numbers of PostgreSQL's advisory locks, which all programs of a database share. Pure data.
#pragma once

#include <cstdint>

namespace headway::store {

// "headway" in front, so that nobody else has them.
inline constexpr std::int64_t kSchemaLock = 0x6865616477617901;
inline constexpr std::int64_t kPartitionLock = 0x6865616477617902;
inline constexpr std::int64_t kForgetLock = 0x6865616477617903;

}  // namespace headway::store
