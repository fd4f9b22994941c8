// Replicas that nobody will come back for: their holder and their agent were both killed, and the
// machine's memory is full of them. Whoever opens a folder beside them clears them away.
#pragma once

#include <cstdint>
#include <string>

namespace headway::replica {

inline constexpr std::int64_t abandoned_after_ns = 600'000'000'000;

// Removes the folders in `root` but `own` whose lock is free, whose socket nobody listens on, and
// that were last used so long ago. Returns how many. `now_ns`: real time.
int remove_abandoned(const std::string& root, const std::string& own, std::int64_t now_ns);

}  // namespace headway::replica
