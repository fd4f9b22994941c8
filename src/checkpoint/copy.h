// A checkpoint from one folder into another, by a draft and a commit: every chunk is compared with
// its checksum on the way, and the copy is there whole or not at all.
#pragma once

#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/verify.h"

namespace headway::checkpoint {

struct Copied {
  CheckpointName name;      // in the other folder
  std::uint64_t bytes = 0;  // with those of its bases
  bool was_there = false;   // the same one, and it was verified: nothing was written
};
// `from`: a checkpoint; with a delta go its bases, first. `folder`: made if it is not there; the
// caller holds its lock. `newest`: also where it is there already it is copied again, unless
// nothing came after it.
base::Result<Copied> copy_checkpoint(base::FileSystem& files, const std::string& from,
                                     base::FileSystem& to_files, const std::string& folder,
                                     bool newest = false, const Progress& progress = {});

// One file of a checkpoint, verified, into a draft.
base::Status copy_file(base::FileSystem& files, const std::string& from, const ManifestFile& entry,
                       Draft& draft, std::uint32_t rank, const Progress& progress);

}  // namespace headway::checkpoint
