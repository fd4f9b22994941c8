// Where a job's compile cache lies and where it is shared: what was asked for, the environment and
// this machine, put together. Pure but for what is said of a directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/environment.h"
#include "agent/options.h"
#include "base/status.h"

namespace headway::agent {

struct CachePlace {
  std::string shelf;          // a folder, s3://bucket/prefix, or a collector, http://host:8743
  bool own_shelf = true;      // nobody named it: it is this user's alone
  std::string directory;      // of torch's compiler
  bool own_directory = true;  // the user named none
  std::string family;         // jobs that share
  std::string pgo_job;  // under which torch keeps what it learns of shapes; empty: it does not
};

// `processor`: what tells kinds of processors apart, for directories that two of them could see.
// "auto" is a shelf of the user's own. None: nobody asked for caches to be shared. Behind `--` the
// Python that we would take ourselves is taken to be the job's.
[[nodiscard]] std::optional<CachePlace> cache_place(const RunOptions& options,
                                                    const Environment& environment,
                                                    const std::string& processor, unsigned user);

// What a warm start of torch's compiler can do without may be left out (python/headway/_compile):
// nobody said `off`. Ranks of another launcher are left alone unless their caches are shared.
[[nodiscard]] bool may_compile_warm(const RunOptions& options, const Environment& environment);

// "ctr" of --attr family=ctr, else the command's name; fit for a folder's name.
[[nodiscard]] std::string cache_family(const RunOptions& options);

// What ranks have to know of it. Inductor sets TRITON_CACHE_DIR when it first meets a kernel, to
// <directory>/triton/<device>: kernels that were compiled before that, a user's own perhaps, lie
// elsewhere, and a rank on another device finds none of them. Triton's keys know no device, so one
// folder serves all. It is left as it is where somebody has set it.
void name_cache_folders(const CachePlace& place, Environment& environment);

// It is on a file system that is read-only, or belongs to somebody else, or cannot be made.
[[nodiscard]] bool cannot_be_written(const std::string& directory);

// A directory of our own is executed from: it must be this user's, and writable for nobody else.
base::Status prepare_cache_directory(const CachePlace& place);

}  // namespace headway::agent
