// Reading one file of a checkpoint in large pieces, every chunk compared with its checksum before
// a byte of it is handed out. One owner, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/aligned_memory.h"
#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/manifest.h"

namespace headway::checkpoint {

class ChunkReader {
 public:
  struct How {
    bool verify = true;
    bool direct = false;  // past the page cache: for much, and for what is read once
  };
  // `entry` outlives it. A file of another size than its entry is an error.
  static base::Result<std::unique_ptr<ChunkReader>> open(base::FileSystem& files,
                                                         const std::string& folder,
                                                         const ManifestFile& entry, How how);

  // `from` and what follows in the file; best asked in rising order. `soon_end`: how far others
  // will be asked for soon, so that small ones can be read together.
  base::Status read(std::uint64_t from, std::span<std::byte> into, std::uint64_t soon_end);

  // One chunk, whole. The memory is aligned for direct I/O, and good until the next call.
  base::Result<std::span<const std::byte>> chunk(std::size_t index);

 private:
  ChunkReader(std::unique_ptr<base::InputFile> file, std::string path, const ManifestFile& entry,
              How how)
      : file_(std::move(file)), path_(std::move(path)), entry_(entry), how_(how) {}
  base::Status fill(std::uint64_t from, std::uint64_t end);
  base::Status check(std::size_t index, std::span<const std::byte> content) const;

  const std::unique_ptr<base::InputFile> file_;
  const std::string path_;
  const ManifestFile& entry_;
  const How how_;
  base::AlignedMemory window_;  // what was read last
  std::uint64_t window_begin_ = 0, window_end_ = 0;
};

// "FOLDER/FILE: chunk 3, bytes 12582912 to 16777216, is damaged".
[[nodiscard]] std::string damage_text(const std::string& path, const ManifestFile& entry,
                                      std::size_t chunk);

}  // namespace headway::checkpoint
