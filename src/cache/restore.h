// Archives that are trusted into a cache directory of this machine, by one process at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "cache/archive.h"
#include "cache/pgo.h"
#include "cache/unpack.h"

namespace headway::cache {

inline constexpr std::int64_t restore_wait_ns = 600'000'000'000;  // for another one to end

// The directory is made where it is not there. One that cannot be written is an error only if
// something is missing in it.
base::Result<Unpacked> restore(const std::string& directory,
                               std::span<const Archive* const> archives,
                               const std::optional<PgoRule>& rule, const UnpackOptions& options);

}  // namespace headway::cache
