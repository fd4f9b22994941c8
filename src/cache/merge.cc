#include "cache/merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/check.h"
#include "cache/archive_writer.h"
#include "cache/keep_newest.h"

namespace headway::cache {
namespace {

using base::Result;
using base::Status;

// Smaller ones are better packed together with others.
constexpr std::uint64_t kCopiedRawBytesMin = block_raw_bytes / 4 * 3;

// Contents that wait until there are enough of them for a block.
class Heap {
 public:
  explicit Heap(ArchiveWriter& writer) : writer_(writer) {}

  Status add(const ContentRecord& content, std::span<const std::byte> bytes) {
    if (bytes_ > 0 && bytes_ + bytes.size() > block_raw_bytes) {
      if (Status status = flush(); !status.ok()) return status;
    }
    contents_.push_back(content);
    raw_.insert(raw_.end(), bytes.begin(), bytes.end());
    bytes_ += bytes.size();
    waiting_.insert(content.sha256);
    return {};
  }
  [[nodiscard]] bool has(const base::Sha256& content) const { return waiting_.contains(content); }

  Status flush() {
    if (contents_.empty()) return {};
    Status status = writer_.append(pack_segment(std::move(contents_), raw_));
    contents_.clear();
    raw_.clear();
    waiting_.clear();
    bytes_ = 0;
    return status;
  }
  // What is left goes to another heap.
  Status move_to(Heap& other) {
    std::span<const std::byte> rest(raw_);
    for (const ContentRecord& content : contents_) {
      if (Status status = other.add(content, rest.first(content.bytes)); !status.ok())
        return status;
      rest = rest.subspan(content.bytes);
    }
    contents_.clear();
    raw_.clear();
    waiting_.clear();
    bytes_ = 0;
    return {};
  }

 private:
  ArchiveWriter& writer_;
  std::vector<ContentRecord> contents_;
  std::vector<std::byte> raw_;
  std::set<base::Sha256> waiting_;
  std::uint64_t bytes_ = 0;
};

class Merger {
 public:
  Merger(ArchiveWriter& writer, std::span<const Archive* const> archives, const Union& all)
      : writer_(writer) {
    for (const Chosen& chosen : all.entries) {
      const Index& index = archives[chosen.archive]->index();
      const Entry& entry = index.entries[chosen.entry];
      needed_.emplace(index.contents[entry.content].sha256, entry.kind);
    }
    for (std::size_t i = 0; i < all_kinds.size(); ++i) heaps_.emplace_back(writer);
  }

  Status take(const Archive& archive, const Segment& segment) {
    std::vector<std::uint32_t> fresh;
    for (std::uint32_t i = 0; i < segment.contents; ++i) {
      const base::Sha256& sha256 = archive.index().contents[segment.first_content + i].sha256;
      if (needed_.contains(sha256) && !writer_.has(sha256) && !waits(sha256)) fresh.push_back(i);
    }
    if (fresh.empty()) return archive.read_stored(segment).status();
    if (fresh.size() == segment.contents && segment.raw_bytes >= kCopiedRawBytesMin) {
      Status status = writer_.append(archive, segment);
      if (status.ok()) copied_bytes += segment.stored_bytes;
      return status;
    }
    const auto raw = archive.read_raw(segment);
    if (!raw.ok()) return raw.status();
    std::uint64_t begin = 0;
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < segment.contents && next < fresh.size(); ++i) {
      const ContentRecord& content = archive.index().contents[segment.first_content + i];
      if (fresh[next] == i) {
        ++next;
        Status status = heap_of(content.sha256)
                            .add(content, std::span(raw.value()).subspan(begin, content.bytes));
        if (!status.ok()) return status;
      }
      begin += content.bytes;
    }
    return {};
  }

  // Of a segment that is damaged nothing was taken. Null: others had all of it.
  [[nodiscard]] const base::Sha256* missing() const {
    const auto at =
        std::ranges::find_if(needed_, [&](const auto& one) { return !writer_.has(one.first); });
    return at == needed_.end() ? nullptr : &at->first;
  }

  // The rests of all kinds together: a block of each would be a waste.
  Status finish() {
    Heap rest(writer_);
    for (Heap& heap : heaps_) {
      if (Status status = heap.move_to(rest); !status.ok()) return status;
    }
    return rest.flush();
  }

  std::uint64_t copied_bytes = 0;

 private:
  Heap& heap_of(const base::Sha256& sha256) {
    return heaps_[static_cast<std::size_t>(needed_.at(sha256)) - 1];
  }
  bool waits(const base::Sha256& sha256) { return heap_of(sha256).has(sha256); }

  ArchiveWriter& writer_;
  std::map<base::Sha256, Kind> needed_;
  std::vector<Heap> heaps_;  // by kind
};
static_assert(static_cast<std::size_t>(all_kinds.back()) == all_kinds.size());

struct Damaged {
  const Archive* archive = nullptr;
  Status status;  // of its first block that is
};

// Whose damage it is that nobody has a content.
Status loss_of(const base::Sha256& content, const std::vector<Damaged>& damaged) {
  for (const Damaged& one : damaged) {
    const auto& contents = one.archive->index().contents;
    if (std::ranges::find(contents, content, &ContentRecord::sha256) != contents.end()) {
      return one.status;
    }
  }
  HW_CHECK(false);
  return {};
}

}  // namespace

Result<Merged> merge_archives(base::FileSystem& files, std::span<const Archive* const> archives,
                              const std::string& path, const MergeOptions& options) {
  if (archives.empty()) return Status::invalid(path + ": nothing to merge was named");
  if (Status status = check_same_binding(archives); !status.ok()) return status;
  Union all = unite(archives);
  std::size_t left_out = 0;
  if (options.bytes_max != UINT64_MAX) left_out = keep_newest(all, archives, options.bytes_max);
  auto writer = ArchiveWriter::create(files, path);
  if (!writer.ok()) return writer.status();
  Merger merger(**writer, archives, all);
  std::vector<Damaged> damaged;
  for (const Archive* archive : archives) {
    Status first;
    for (const Segment& segment : archive->segments()) {
      const Status status = merger.take(*archive, segment);
      if (!status.ok() && status.code() != base::Code::corrupt) return status;
      if (first.ok()) first = status;
      if (options.progress) options.progress(segment.stored_bytes);
    }
    if (!first.ok()) damaged.push_back({archive, std::move(first)});
  }
  if (Status status = merger.finish(); !status.ok()) return status;
  if (const base::Sha256* lost = merger.missing()) return loss_of(*lost, damaged);
  for (const Chosen& chosen : all.entries) {
    const Index& index = archives[chosen.archive]->index();
    const Entry& entry = index.entries[chosen.entry];
    Status status = (*writer)->add_entry(entry, index.contents[entry.content].sha256);
    if (!status.ok()) return status;
  }
  Binding binding = archives[0]->binding();
  binding.created_ns = options.created_ns;
  for (const Archive* archive : archives) {
    for (const std::string& command : archive->binding().commands) {
      const auto end = binding.commands.end();
      const bool known = std::find(binding.commands.begin(), end, command) != end;
      if (!known && binding.commands.size() < commands_max) binding.commands.push_back(command);
    }
  }
  if (Status status = (*writer)->finish(binding, options.key); !status.ok()) return status;
  const Index& index = (*writer)->index();
  std::vector<std::string> told;
  for (const Damaged& one : damaged) told.push_back(one.status.message());
  return Merged{.entries = index.entries.size(),
                .contents = index.contents.size(),
                .left_out = left_out,
                .same = all.same,
                .replaced = all.replaced,
                .replaced_paths = all.replaced_paths,
                .raw_bytes = index.entry_bytes(),
                .file_bytes = (*writer)->file_bytes(),
                .copied_bytes = merger.copied_bytes,
                .content = base::hex(content_identity(index)),
                .damaged = std::move(told)};
}

}  // namespace headway::cache
