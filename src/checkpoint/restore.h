// A checkpoint in another shape: whole tensors in ordinary safetensors files with an index, that
// anything opens; or again a checkpoint, of another number of ranks, each with its rows. All that
// is read is compared with the checksums; what is written appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/load.h"
#include "checkpoint/verify.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t shard_bytes_default = 5'000'000'000;
inline constexpr std::uint32_t ranks_max = 65'536;

struct RestoreOptions {
  std::string only;                                 // names that begin with this; "": all
  std::uint64_t shard_bytes = shard_bytes_default;  // of data in one file; a tensor is not cut
  Progress progress;
};

struct Restored {
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;            // of tensors
  std::vector<std::string> files;     // written
  std::vector<std::string> left_out;  // files of the checkpoint that hold no tensors
};

// Into `folder`, which must not be there (or be empty).
base::Result<Restored> restore_whole(base::FileSystem& files, const CheckpointReader& reader,
                                     const std::string& folder, const RestoreOptions& options);

// Into a folder of checkpoints, by a draft; the caller holds its lock. Files without tensors go
// along where their rank is still there. The documents of the ranks that saved it are tensors like
// others: by their number a trainer knows of how many ranks the state is.
struct Resharded {
  CheckpointName name;
  Restored what;
};
base::Result<Resharded> restore_ranks(base::FileSystem& files, const CheckpointReader& reader,
                                      const std::string& folder, std::uint32_t ranks,
                                      const RestoreOptions& options);

// What is read in all: for a progress bar.
[[nodiscard]] std::uint64_t restored_bytes(const CheckpointReader& reader, const std::string& only);

}  // namespace headway::checkpoint
