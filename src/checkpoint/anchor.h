// The mark of a checkpoint that is kept forever: a file ANCHOR beside its manifest, with a line of
// why. It is durable when the call returns, and set or taken away by one rename or one removal, so
// that a crash leaves it as it was or as it should be. Whoever sets or removes it holds the
// folder's lock (lock.h): a prune that has begun would not see it.
#pragma once

#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/manifest.h"

namespace headway::checkpoint {

inline constexpr std::size_t anchor_note_bytes_max = 1024;

base::Status set_anchor(base::FileSystem& files, const std::string& checkpoint,
                        const std::string& note);
// One that is not there is as good.
base::Status remove_anchor(base::FileSystem& files, const std::string& checkpoint);
// An anchor of which it cannot be told is one: nothing is removed by a doubt.
bool is_anchor(base::FileSystem& files, const std::string& checkpoint);
// The first line; "" where there is none.
std::string anchor_note(base::FileSystem& files, const std::string& checkpoint);

}  // namespace headway::checkpoint
