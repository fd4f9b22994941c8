#include "cache/archive_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"

namespace headway::cache {

using base::Result;
using base::Status;

namespace {

constexpr std::int64_t kWasteAgeNs = 3600 * base::kNsPerSecond;
constexpr std::uint64_t kWriteBackBytes = 4 << 20;
constexpr std::uint64_t kPageBytes = 4096;

// Of writers of the same archive that were killed. One that still writes is younger.
void clear_waste(base::FileSystem& files, const std::string& folder, const std::string& begin) {
  const auto entries = files.list(folder);
  if (!entries.ok()) return;
  for (const base::FolderEntry& entry : entries.value()) {
    if (!entry.name.starts_with(begin) || !entry.name.ends_with(".tmp")) continue;
    if (entry.modified_ns == 0 || entry.modified_ns > base::real_ns() - kWasteAgeNs) continue;
    (void)files.remove_file(folder + "/" + entry.name);
  }
}

}  // namespace

PackedSegment pack_segment(std::vector<ContentRecord> contents, std::span<const std::byte> raw) {
  PackedSegment segment{.blocks = {}, .contents = std::move(contents)};
  std::uint64_t bytes = 0;
  for (const ContentRecord& content : segment.contents) bytes += content.bytes;
  HW_CHECK(bytes == raw.size());
  while (!raw.empty()) {
    // A little over one block's worth is better kept together than in a block and a crumb.
    const std::size_t piece = raw.size() <= block_raw_bytes + block_raw_bytes / 2
                                  ? raw.size()
                                  : std::size_t{block_raw_bytes};
    segment.blocks.push_back(pack_block(raw.first(piece)));
    raw = raw.subspan(piece);
  }
  return segment;
}

ArchiveWriter::ArchiveWriter(base::FileSystem& files, std::string path, std::string temporary,
                             std::unique_ptr<base::OutputFile> file)
    : files_(files),
      path_(std::move(path)),
      temporary_(std::move(temporary)),
      file_(std::move(file)) {}

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::create(base::FileSystem& files,
                                                             std::string path) {
  const std::string folder = base::folder_of(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty()) return Status::invalid(path + ": a folder's name; name a file");
  clear_waste(files, folder, fmt::format(".{}.", name));
  // Several may write the same archive at once: the last one's is there in the end, whole.
  std::string temporary =
      fmt::format("{}/.{}.{}-{}.tmp", folder, name, ::getpid(), base::monotonic_ns());
  auto file = files.create(temporary, {});
  if (!file.ok()) return file.status();
  return std::unique_ptr<ArchiveWriter>(
      new ArchiveWriter(files, std::move(path), std::move(temporary), std::move(*file)));
}

ArchiveWriter::~ArchiveWriter() {
  if (finished_) return;
  (void)file_->close();
  (void)files_.remove_file(temporary_);
}

Status ArchiveWriter::write(std::span<const std::byte> data) {
  if (file_bytes_ + data.size() > archive_bytes_max) {
    return Status::invalid(fmt::format("{}: would be larger than {} GiB; pack a smaller folder",
                                       path_, archive_bytes_max >> 30));
  }
  Status status = file_->write(file_bytes_, data);
  if (status.ok()) file_bytes_ += data.size();
  if (file_bytes_ - begun_bytes_ >= kWriteBackBytes) {
    // The disk works while the next blocks are made; finish() waits for what is left.
    const std::uint64_t bytes = (file_bytes_ - begun_bytes_) / kPageBytes * kPageBytes;
    file_->begin_write_back(begun_bytes_, bytes);
    begun_bytes_ += bytes;
  }
  return status;
}

Status ArchiveWriter::claim(std::span<const ContentRecord> contents) {
  for (const ContentRecord& content : contents) {
    const auto id = static_cast<std::uint32_t>(index_.contents.size());
    HW_CHECK(ids_.emplace(content.sha256, id).second && content.bytes <= content_bytes_max);
    index_.contents.push_back(content);
    raw_bytes_ += content.bytes;
  }
  if (raw_bytes_ <= raw_bytes_max && index_.blocks.size() <= blocks_max) return {};
  return Status::invalid(path_ + ": would hold more than an archive may; pack a smaller folder");
}

Status ArchiveWriter::append(const PackedSegment& segment) {
  for (const PackedBlock& block : segment.blocks) {
    if (Status status = write(block.stored); !status.ok()) return status;
    index_.blocks.push_back(block.record);
  }
  return claim(segment.contents);
}

Status ArchiveWriter::append(const Archive& from, const Segment& segment) {
  const auto stored = from.read_stored(segment);
  if (!stored.ok()) return stored.status();
  if (Status status = write(stored.value()); !status.ok()) return status;
  const auto blocks = std::span(from.index().blocks).subspan(segment.first_block, segment.blocks);
  index_.blocks.insert(index_.blocks.end(), blocks.begin(), blocks.end());
  return claim(std::span(from.index().contents).subspan(segment.first_content, segment.contents));
}

Status ArchiveWriter::add_entry(Entry entry, const base::Sha256& content) {
  const auto id = ids_.find(content);
  HW_CHECK(id != ids_.end());
  if (kind_of_path(entry.path) != entry.kind || entry.key.size() > key_bytes_max) {
    return Status::invalid(fmt::format("{}: '{}' is no place of a cache", path_, entry.path));
  }
  if (index_.entries.size() == entries_max) {
    return Status::invalid(
        fmt::format("{}: more than {} entries; pack a smaller folder", path_, entries_max));
  }
  entry.content = id->second;
  index_.entries.push_back(std::move(entry));
  return {};
}

Status ArchiveWriter::finish(const Binding& binding, const SigningKey* key) {
  HW_CHECK(!finished_);
  const FrontBytes front = to_bytes(binding, index_, key);
  Status status = write(base::bytes_of(front.tail));
  if (status.ok()) status = file_->write(0, base::bytes_of(front.head));
  if (status.ok()) status = file_->sync();
  if (Status closed = file_->close(); status.ok()) status = closed;
  if (status.ok()) status = files_.rename(temporary_, path_);
  finished_ = true;
  if (!status.ok()) {
    (void)files_.remove_file(temporary_);
    return status;
  }
  return files_.sync_folder(base::folder_of(path_));
}

}  // namespace headway::cache
