// A step of a job on several machines to disk: the holder of each writes the files of its own ranks
// and waits for those of the others (checkpoint/together.h). What a holder's disk thread does.
//
// Nobody waits for ever. As long as those that are waited for leave signs of life, everybody waits;
// without any, long while they may still come, and a moment when they may be dead.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "replica/save_step.h"
#include "replica/slot.h"

namespace headway::replica {

struct TogetherLimits {
  std::int64_t quiet_ns = 600'000'000'000;  // since the last sign of life of those waited for
  std::int64_t lost_ns = 10'000'000'000;    // the same, when they may be dead
  std::int64_t agree_ns = 20'000'000'000;   // at the end of a run, for a step that all have
};

struct Patience {
  TogetherLimits limits;
  // False: to be left at once as it is; the next holder goes on with it.
  std::function<bool()> goes_on;
  // Of this attempt the others may be dead: it is over, or nobody trains here any more.
  std::function<bool()> is_lost;
};

// `slots`: of all ranks here, of one step. The machine with rank 0 commits, and does as save_step()
// does beyond that. `end`: at the end of a run.
base::Result<checkpoint::CheckpointName> save_together(
    base::FileSystem& files, const SaveOrder& order,
    const std::vector<std::shared_ptr<Slot>>& slots, bool end, const Patience& patience,
    const std::function<void(const std::string&)>& note);

// At the end of a run machines may be a step apart. `steps`: those that all ranks here have, the
// newest first. Which of them all other machines have too, the newest of such; an error: none, as
// far as they have told. With `wait` false it is told, and nobody is waited for.
using Steps = std::vector<std::vector<std::shared_ptr<Slot>>>;
base::Result<std::size_t> agree_on_end(base::FileSystem& files, const SaveOrder& order,
                                       const Steps& steps, bool wait, const Patience& patience);

}  // namespace headway::replica
