#include "cache/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/check.h"
#include "base/parallel.h"
#include "cache/block.h"

namespace headway::cache {

using base::Result;
using base::Status;

Archive::Archive(base::FileSystem& files, std::string path, Front front, std::uint64_t file_bytes)
    : files_(files),
      path_(std::move(path)),
      front_(std::move(front)),
      file_bytes_(file_bytes),
      segments_(segments_of(front_.index)) {}

Result<std::unique_ptr<Archive>> Archive::open(base::FileSystem& files, std::string path) {
  auto file = files.open(path);
  if (!file.ok()) return file.status();
  const std::uint64_t bytes = (*file)->bytes();
  std::string head(std::min<std::uint64_t>(bytes, sizeof(HeadRecord)), '\0');
  Status status = (*file)->read(0, std::as_writable_bytes(std::span(head)));
  if (!status.ok()) return status;
  auto layout = parse_head(head, bytes, path);
  if (!layout.ok()) return layout.status();
  std::string tail(static_cast<std::size_t>(layout->tail_bytes), '\0');
  status = (*file)->read(layout->binding_begin, std::as_writable_bytes(std::span(tail)));
  if (!status.ok()) return status;
  auto front = parse_front(*layout, tail, path);
  if (!front.ok()) return front.status();
  return std::unique_ptr<Archive>(new Archive(files, std::move(path), std::move(*front), bytes));
}

std::uint32_t Archive::segment_of(std::uint32_t content) const {
  const auto after = std::ranges::upper_bound(
      segments_, content, {}, [](const Segment& segment) { return segment.first_content; });
  HW_CHECK(after != segments_.begin());
  return static_cast<std::uint32_t>(after - segments_.begin() - 1);
}

Status Archive::read(const Segment& segment, std::span<std::byte> into) const {
  if (into.empty()) return {};
  auto file = files_.open(path_);  // a file is for one thread
  if (!file.ok()) return file.status();
  return (*file)->read(sizeof(HeadRecord) + segment.stored_begin, into);
}

Status Archive::unpack_blocks(const Segment& segment, std::span<const std::byte> stored,
                              std::span<std::byte> into) const {
  for (std::uint32_t i = 0; i < segment.blocks; ++i) {
    const BlockRecord& block = index().blocks[segment.first_block + i];
    Status status =
        unpack_block(block, stored.first(block.stored_bytes), into.first(block.raw_bytes), path_);
    if (!status.ok()) return status;
    stored = stored.subspan(block.stored_bytes);
    into = into.subspan(block.raw_bytes);
  }
  return {};
}

Result<std::span<const std::byte>> Archive::unpack(const Segment& segment,
                                                   SegmentBuffers& buffers) const {
  const auto grow = [](std::vector<std::byte>& buffer, std::uint64_t bytes) {
    if (buffer.size() < bytes) buffer.resize(bytes);
    return std::span(buffer).first(bytes);
  };
  const auto stored = grow(buffers.stored, segment.stored_bytes);
  const auto raw = grow(buffers.raw, segment.raw_bytes);
  Status status = read(segment, stored);
  if (status.ok()) status = unpack_blocks(segment, stored, raw);
  if (!status.ok()) return status;
  return std::span<const std::byte>(raw);
}

std::span<const std::byte> Archive::content_in(const Segment& segment,
                                               std::span<const std::byte> raw,
                                               std::uint32_t content) const {
  HW_CHECK(content >= segment.first_content && content - segment.first_content < segment.contents);
  std::uint64_t begin = 0;
  for (std::uint32_t i = segment.first_content; i < content; ++i)
    begin += index().contents[i].bytes;
  return raw.subspan(begin, index().contents[content].bytes);
}

Result<std::vector<std::byte>> Archive::read_stored(const Segment& segment) const {
  std::vector<std::byte> stored(segment.stored_bytes);
  if (Status status = read(segment, stored); !status.ok()) return status;
  std::span<const std::byte> rest(stored);
  for (std::uint32_t i = 0; i < segment.blocks; ++i) {
    const BlockRecord& block = index().blocks[segment.first_block + i];
    Status status = check_block(block, rest.first(block.stored_bytes), path_);
    if (!status.ok()) return status;
    rest = rest.subspan(block.stored_bytes);
  }
  return stored;
}

Result<std::vector<std::byte>> Archive::read_raw(const Segment& segment) const {
  std::vector<std::byte> stored(segment.stored_bytes);
  std::vector<std::byte> raw(segment.raw_bytes);
  Status status = read(segment, stored);
  if (status.ok()) status = unpack_blocks(segment, stored, raw);
  if (!status.ok()) return status;
  std::span<const std::byte> rest(raw);
  for (std::uint32_t i = 0; i < segment.contents; ++i) {
    const ContentRecord& content = index().contents[segment.first_content + i];
    if (base::sha256(rest.first(content.bytes)) != content.sha256) {
      return Status::corrupt(
          fmt::format("{}: content {} is not the one that its index tells; take "
                      "another copy of the archive",
                      path_, segment.first_content + i));
    }
    rest = rest.subspan(content.bytes);
  }
  HW_CHECK(rest.empty());
  return raw;
}

Status Archive::verify(std::size_t threads, bool deep, const Progress& progress) const {
  std::atomic<bool> stop = false;
  std::mutex mutex;
  return base::in_parallel(
      segments_.size(), threads, stop, [&](std::size_t, std::size_t i) -> Status {
        const auto read = deep ? read_raw(segments_[i]) : read_stored(segments_[i]);
        if (!read.ok() || !progress) return read.status();
        const std::lock_guard lock(mutex);
        progress(segments_[i].stored_bytes);
        return {};
      });
}

}  // namespace headway::cache
