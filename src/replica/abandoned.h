// Giving memory back: a folder of replicas that nobody needs any more, and those that nobody will
// come back for, because their holder and their agent were both killed. Whoever opens a folder
// beside such clears them away.
#pragma once

#include <cstdint>
#include <string>

namespace headway::replica {

inline constexpr std::int64_t abandoned_after_ns = 600'000'000'000;

// Slots, socket, log and lock, and the folder if nothing else is in it. Its holder calls this, or
// whoever knows that there is none.
// True: the folder is gone.
bool remove_replicas(const std::string& folder);

// Removes the folders in `root` but `own` whose lock is free, whose socket nobody listens on, and
// that were last used so long ago. Returns how many. `now_ns`: real time.
int remove_abandoned(const std::string& root, const std::string& own, std::int64_t now_ns);

}  // namespace headway::replica
