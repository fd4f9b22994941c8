// Tensors in memory → one file of a draft, written past the page cache while the next bytes are
// copied and summed. For those who save without a replica (torch.distributed.checkpoint).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "checkpoint/tensor.h"

namespace headway::checkpoint {

// `sources`: where each piece lies. Durable when it returns well, but for the file's name, which
// comes with the draft's commit. The entry is for Draft::take().
base::Result<ManifestFile> write_shard(base::FileSystem& files, const std::string& draft_path,
                                       const std::string& name, std::uint32_t rank,
                                       const std::vector<Piece>& pieces,
                                       std::span<const std::byte* const> sources);

}  // namespace headway::checkpoint
