// A union of archives within a bound of bytes: archives that are merged again and again would
// otherwise only grow, with what was compiled for code that nobody has any more. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cache/archive.h"
#include "cache/unite.h"

namespace headway::cache {

// Leaves out the oldest entries, by when they were packed, until the archive of the rest comes to
// about `bytes_max`: reckoned as tightly packed as they are now. The newest entry stays whatever
// its size. Says how many are left out.
//
// An entry that is in use all the time is not packed again, and so is old too. If it goes, the next
// job compiles it and packs it as a new one.
std::size_t keep_newest(Union& all, std::span<const Archive* const> archives,
                        std::uint64_t bytes_max);

}  // namespace headway::cache
