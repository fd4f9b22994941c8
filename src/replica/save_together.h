// A step of a job on several machines to disk: the holder of each writes the files of its own ranks
// and waits for those of the others (checkpoint/together.h). What a holder's disk thread does.
//
// Nobody waits for ever. As long as those that are waited for leave signs of life, everybody waits;
// without any, long while they may still come, less at the end of a run, and a moment when the next
// attempt is there and wants the disk.
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
  // Since the last sign of life of those waited for: while all train,
  std::int64_t quiet_ns = 600'000'000'000;
  // when nobody trains here any more, also until all have told which steps they have: others may
  // end later than we by a lease and by ranks that will not die, and NFS may show what they say a
  // minute later,
  std::int64_t end_ns = 90'000'000'000;
  // and when the next attempt is there: its saves come after this one.
  std::int64_t next_ns = 10'000'000'000;
  std::int64_t beat_ns = 2'000'000'000;  // between two signs of ours
};

struct Patience {
  TogetherLimits limits;
  // False: to be left at once as it is; the next holder goes on with it.
  std::function<bool()> goes_on;
  // Which of the limits holds now.
  std::function<std::int64_t()> silence_ns;
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
