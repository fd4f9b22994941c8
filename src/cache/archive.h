// An archive on disk, to be read: its front in memory, its blocks read when they are wanted, and
// compared with their digests each time. One owner; the calls that read may be made by several
// threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/front.h"

namespace headway::cache {

// What is called with bytes as they are done, by one thread at a time.
using Progress = std::function<void(std::uint64_t bytes)>;

// Memory that is used again: of one thread.
struct SegmentBuffers {
  std::vector<std::byte> stored, raw;
};

class Archive {
 public:
  static base::Result<std::unique_ptr<Archive>> open(base::FileSystem& files, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Front& front() const { return front_; }
  [[nodiscard]] const Binding& binding() const { return front_.binding; }
  [[nodiscard]] const Index& index() const { return front_.index; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] std::uint32_t segment_of(std::uint32_t content) const;
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

  // The digest of every block; with `deep`, also that of every content.
  base::Status verify(std::size_t threads, bool deep, const Progress& progress = {}) const;

  // The stored bytes of a segment's blocks, compared with their digests.
  base::Result<std::vector<std::byte>> read_stored(const Segment& segment) const;
  // What they unpack to: the segment's contents, one behind the other, each compared with its
  // digest.
  base::Result<std::vector<std::byte>> read_raw(const Segment& segment) const;
  // The same, for whoever writes it out at once: only the blocks are compared, whose digests cover
  // all bytes. It lies in `buffers` until they are used again.
  base::Result<std::span<const std::byte>> unpack(const Segment& segment,
                                                  SegmentBuffers& buffers) const;
  // One content of what a segment unpacked to.
  [[nodiscard]] std::span<const std::byte> content_in(const Segment& segment,
                                                      std::span<const std::byte> raw,
                                                      std::uint32_t content) const;

 private:
  Archive(base::FileSystem& files, std::string path, Front front, std::uint64_t file_bytes);
  // `into`: of stored_bytes, and of raw_bytes.
  base::Status read(const Segment& segment, std::span<std::byte> into) const;
  base::Status unpack_blocks(const Segment& segment, std::span<const std::byte> stored,
                             std::span<std::byte> into) const;

  base::FileSystem& files_;
  const std::string path_;
  const Front front_;
  const std::uint64_t file_bytes_;
  const std::vector<Segment> segments_;
};

}  // namespace headway::cache
