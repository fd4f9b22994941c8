// Several archives into one that holds every entry of all of them, or the newest. Blocks that are
// needed whole are copied as they are; of others what is new is packed again, like beside like.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/archive.h"
#include "cache/keys.h"
#include "cache/unite.h"

namespace headway::cache {

struct MergeOptions {
  const SigningKey* key = nullptr;
  std::int64_t created_ns = 0;           // of the new archive
  std::uint64_t bytes_max = UINT64_MAX;  // about; beyond it the oldest entries go (keep_newest.h)
  Progress progress{};                   // in stored bytes of the archives
};

struct Merged {
  std::size_t entries = 0;
  std::size_t contents = 0;
  std::size_t left_out = 0;                 // entries, for the bound
  std::size_t same = 0;                     // entries that several had
  std::size_t replaced = 0;                 // had another content: the newest was taken
  std::vector<std::string> replaced_paths;  // some of them
  std::uint64_t raw_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t copied_bytes = 0;  // of blocks that were not packed again
  std::string content;             // hex(content_identity)
  // Archives with a damaged block whose contents others had, each once, and what is wrong with it.
  std::vector<std::string> damaged;
};

// Of the same binding; the caller knows whom to trust. `path` may be one of them. Every block is
// read, needed or not, so that damage is told in whatever order they are named. An error only where
// nobody has a content undamaged.
base::Result<Merged> merge_archives(base::FileSystem& files,
                                    std::span<const Archive* const> archives,
                                    const std::string& path, const MergeOptions& options);

}  // namespace headway::cache
