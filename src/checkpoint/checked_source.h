// A file of a checkpoint as something to upload: each part is compared with the manifest's
// checksums when it is read, so that a damaged file is not made to look good by a copy. Any thread.
// What chunks longer than checked_chunk_bytes_max have in them is not compared here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "object_store/source.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t checked_chunk_bytes_max = 64ULL << 20;

class CheckedSource final : public object_store::Source {
 public:
  // `entry` outlives it.
  CheckedSource(base::FileSystem& files, std::string path, const ManifestFile& entry)
      : path_(path), entry_(entry), file_(files, std::move(path), entry.bytes) {}

  [[nodiscard]] std::uint64_t bytes() const override { return entry_.bytes; }
  base::Result<std::span<const std::byte>> read(std::uint64_t offset, std::uint64_t size,
                                                std::vector<std::byte>& buffer) override;

 private:
  const std::string path_;
  const ManifestFile& entry_;
  object_store::FileSource file_;
};

// "PATH: damaged between bytes 4194304 and 8388608"
[[nodiscard]] base::Status damaged(const std::string& path, const ManifestFile& entry,
                                   std::uint64_t chunk);

// Checks a file that comes from front to back, in pieces of any size. A value: a copy of an earlier
// one goes back to where it was.
class ChunkCheck {
 public:
  ChunkCheck() = default;
  // What is before is known to be good; the beginning of a chunk.
  explicit ChunkCheck(std::uint64_t at) : at_(at) {}
  // The first chunk that ended in `data` with another checksum than the manifest's; none: all are
  // good so far.
  std::optional<std::uint64_t> add(const ManifestFile& entry, std::span<const std::byte> data);

 private:
  std::uint64_t at_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace headway::checkpoint
