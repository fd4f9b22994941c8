// An archive on disk, to be written: segments as they come, then the front, and only then its name.
// What is there is the old archive or the whole new one. One owner, one thread; pack_segment is for
// any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "cache/archive.h"
#include "cache/block.h"
#include "cache/front.h"

namespace headway::cache {

// Contents that begin and end with blocks of their own.
struct PackedSegment {
  std::vector<PackedBlock> blocks;
  std::vector<ContentRecord> contents;
};
// `raw`: the contents, one behind the other, as long as the records say.
[[nodiscard]] PackedSegment pack_segment(std::vector<ContentRecord> contents,
                                         std::span<const std::byte> raw);

class ArchiveWriter {
 public:
  // `path` gets its content in finish(); until then a temporary beside it grows.
  static base::Result<std::unique_ptr<ArchiveWriter>> create(base::FileSystem& files,
                                                             std::string path);
  // Without finish() nothing is left.
  ~ArchiveWriter();
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  [[nodiscard]] bool has(const base::Sha256& content) const { return ids_.contains(content); }
  // None of its contents is there yet.
  base::Status append(const PackedSegment& segment);
  // The same of another archive, without unpacking it.
  base::Status append(const Archive& from, const Segment& segment);

  // Its content is there; `entry.content` is filled in. A path that is no entry's, or an entry too
  // many, is an error.
  base::Status add_entry(Entry entry, const base::Sha256& content);

  // Durable, under its name. `key`: may be null.
  base::Status finish(const Binding& binding, const SigningKey* key);
  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  ArchiveWriter(base::FileSystem& files, std::string path, std::string temporary,
                std::unique_ptr<base::OutputFile> file);
  base::Status write(std::span<const std::byte> data);
  base::Status claim(std::span<const ContentRecord> contents);

  base::FileSystem& files_;
  const std::string path_;
  const std::string temporary_;
  std::unique_ptr<base::OutputFile> file_;
  std::uint64_t file_bytes_ = sizeof(HeadRecord);
  std::uint64_t begun_bytes_ = 0;  // that the disk has been given
  Index index_;
  std::uint64_t raw_bytes_ = 0;
  std::map<base::Sha256, std::uint32_t> ids_;
  bool finished_ = false;
};

}  // namespace headway::cache
