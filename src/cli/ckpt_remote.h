// Checkpoints in an object store, for the verbs of `headway ckpt`: s3://bucket/prefix in the place
// of a folder.
#pragma once

#include <string>

#include "base/status.h"
#include "checkpoint/copy.h"
#include "checkpoint/look.h"
#include "checkpoint/verify.h"

namespace headway::cli {

[[nodiscard]] bool is_remote(const std::string& path);

struct RemoteCopy {
  std::string path;  // of the copy
  std::uint64_t bytes = 0;
  bool was_there = false;
};
// `from`: a local checkpoint; `to`: s3://bucket/prefix. Cut off, the same command goes on.
base::Result<RemoteCopy> copy_up(const std::string& from, const std::string& to);
// `from`: s3://bucket/prefix, then the newest good one, or one of its checkpoints; `folder`: local.
// The caller holds the folder's lock.
base::Result<RemoteCopy> copy_down(const std::string& from, const std::string& folder);

// The checkpoints below s3://bucket/prefix, the newest first: so many good ones, and what is newer
// than the last of them. A store that does not answer is given up soon: somebody waits.
base::Result<std::vector<checkpoint::Look>> look_remote(const std::string& place,
                                                        std::size_t good_max);
// Every byte of one of them, with a progress bar.
base::Result<checkpoint::VerifyReport> verify_remote(const checkpoint::Look& look);

}  // namespace headway::cli
