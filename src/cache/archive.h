// An archive on disk, to be read: its front in memory, its blocks read when they are wanted, and
// compared with their digests each time. One owner; the calls that read may be made by several
// threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/front.h"

namespace headway::cache {

// What is called with bytes as they are done, by one thread at a time.
using Progress = std::function<void(std::uint64_t bytes)>;

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

 private:
  Archive(base::FileSystem& files, std::string path, Front front, std::uint64_t file_bytes);
  base::Result<std::vector<std::byte>> read(const Segment& segment) const;

  base::FileSystem& files_;
  const std::string path_;
  const Front front_;
  const std::uint64_t file_bytes_;
  const std::vector<Segment> segments_;
};

}  // namespace headway::cache
