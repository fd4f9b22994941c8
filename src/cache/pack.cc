#include "cache/pack.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include "base/check.h"
#include "base/parallel.h"
#include "cache/archive_writer.h"
#include "cache/relocate.h"

namespace headway::cache {
namespace {

using base::FileSystem;
using base::Result;
using base::Status;

struct ReadFile {
  const CacheFile* file = nullptr;
  base::Sha256 sha256{};
  std::uint64_t begin = 0, bytes = 0;  // in the group's bytes
  bool relocated = false;
  bool vanished = false;
};

// The files of one segment, read. Memory that is used again: what is behind `used` counts for
// nothing.
struct Group {
  std::vector<std::byte> raw;
  std::uint64_t used = 0;
  std::vector<ReadFile> files;

  std::span<std::byte> grow(std::uint64_t bytes) {
    if (raw.size() < used + bytes) raw.resize(used + bytes);
    used += bytes;
    return std::span(raw).subspan(used - bytes, bytes);
  }
  [[nodiscard]] std::span<const std::byte> bytes_of(const ReadFile& file) const {
    return std::span(raw).subspan(file.begin, file.bytes);
  }
};

// Groups of about a block's worth, by the sizes that the scan saw; like beside like.
std::vector<std::span<const CacheFile>> group_files(std::span<const CacheFile> files) {
  std::vector<std::span<const CacheFile>> groups;
  std::size_t begin = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i > begin && bytes + files[i].bytes > block_raw_bytes) {
      groups.push_back(files.subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += files[i].bytes;
  }
  if (begin < files.size()) groups.push_back(files.subspan(begin));
  return groups;
}

Status read_into(FileSystem& files, const std::string& directory, const CacheFile& file,
                 Group& group) {
  ReadFile read{.file = &file, .begin = group.used};
  auto input = files.open(directory + "/" + file.path);
  // Caches change while they are packed: what is gone, or is about to be another, is left out.
  read.vanished = !input.ok() && input.status().code() == base::Code::not_found;
  if (!input.ok() && !read.vanished) return input.status();
  if (!read.vanished && (*input)->bytes() != file.bytes) read.vanished = true;
  if (!read.vanished) {
    const std::span<std::byte> into = group.grow(file.bytes);
    const Status status = (*input)->read(0, into);
    if (!status.ok()) return status;
    const std::string_view text(reinterpret_cast<const char*>(into.data()), into.size());
    if (const auto placeless = without_place(file.path, text)) {
      read.relocated = true;
      group.used = read.begin;
      std::ranges::copy(base::bytes_of(*placeless), group.grow(placeless->size()).begin());
    }
    read.bytes = group.used - read.begin;
    read.sha256 = base::sha256(group.bytes_of(read));
  }
  group.files.push_back(read);
  return {};
}

// Takes groups in their order, whichever thread is ready first: one that comes too early is kept,
// and its thread goes on.
class Commit {
 public:
  Commit(ArchiveWriter& writer, const Binding& binding, const PackOptions& options)
      : writer_(writer), binding_(binding), options_(options), waiting_max_(2 * options.threads) {}

  // An empty one.
  Group take_group() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    Group group = std::move(spare_.back());
    spare_.pop_back();
    return group;
  }

  // The contents of a group that no earlier one had, as far as is known yet.
  PackedSegment pack(const Group& group) {
    std::vector<ContentRecord> contents;
    std::set<base::Sha256> own;
    std::vector<const ReadFile*> fresh;
    {
      const std::lock_guard lock(mutex_);
      for (const ReadFile& file : group.files) {
        if (file.vanished || known_.contains(file.sha256) || !own.insert(file.sha256).second) {
          continue;
        }
        fresh.push_back(&file);
        contents.push_back({file.sha256, file.bytes});
      }
    }
    if (fresh.size() == group.files.size()) {
      return pack_segment(std::move(contents), std::span(group.raw).first(group.used));
    }
    std::vector<std::byte> raw;
    for (const ReadFile* file : fresh) {
      const auto bytes = group.bytes_of(*file);
      raw.insert(raw.end(), bytes.begin(), bytes.end());
    }
    return pack_segment(std::move(contents), raw);
  }

  Status commit(std::size_t number, Group group, PackedSegment segment,
                const std::atomic<bool>& stop) {
    std::unique_lock lock(mutex_);
    turn_.wait(lock,
               [&] { return next_ == number || waiting_.size() < waiting_max_ || stop.load(); });
    if (stop.load()) return {};  // another one's error is told
    waiting_.emplace(number, Waiting{std::move(group), std::move(segment)});
    if (busy_) return {};  // whoever is at it takes this one, too
    busy_ = true;
    Status status;
    while (status.ok() && waiting_.contains(next_)) {
      Waiting one = std::move(waiting_.extract(next_).mapped());
      status = take(one, lock);
      ++next_;
      one.group.used = 0;
      one.group.files.clear();
      spare_.push_back(std::move(one.group));
      turn_.notify_all();
    }
    busy_ = false;
    return status;
  }

  void wake() {
    const std::lock_guard lock(mutex_);
    turn_.notify_all();
  }

  std::size_t vanished = 0;

 private:
  struct Waiting {
    Group group;
    PackedSegment segment;
  };

  // By one thread at a time; `lock` is held, and let go of while there is work to do.
  Status take(Waiting& one, std::unique_lock<std::mutex>& lock) {
    const auto is_known = [&](const ContentRecord& content) {
      return known_.contains(content.sha256);
    };
    if (std::ranges::any_of(one.segment.contents, is_known)) {
      lock.unlock();  // a group before this one had it, too
      one.segment = pack(one.group);
      lock.lock();
    }
    for (const ContentRecord& content : one.segment.contents) known_.insert(content.sha256);
    lock.unlock();
    Status status = add(one.group, one.segment);
    lock.lock();
    return status;
  }

  Status add(const Group& group, const PackedSegment& segment) {
    if (Status status = writer_.append(segment); !status.ok()) return status;
    std::uint64_t bytes = 0;
    for (const ReadFile& file : group.files) {
      bytes += file.file->bytes;
      vanished += file.vanished ? 1 : 0;
      if (file.vanished) continue;
      Status status = writer_.add_entry({.path = file.file->path,
                                         .key = {},
                                         .kind = file.file->kind,
                                         .executable = file.file->executable,
                                         .relocated = file.relocated,
                                         .time_ns = binding_.created_ns},
                                        file.sha256);
      if (!status.ok()) return status;
    }
    if (options_.progress) options_.progress(bytes);
    return {};
  }

  ArchiveWriter& writer_;  // of who is busy
  const Binding& binding_;
  const PackOptions& options_;
  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::set<base::Sha256> known_;  // contents of the groups so far
  std::map<std::size_t, Waiting> waiting_;
  std::vector<Group> spare_;
  std::size_t next_ = 0;
  bool busy_ = false;
};

}  // namespace

Result<Packed> pack_directory(FileSystem& files, const std::string& directory, const Scan& scan,
                              const Binding& binding, FileSystem& to_files, const std::string& path,
                              const PackOptions& options) {
  auto writer = ArchiveWriter::create(to_files, path);
  if (!writer.ok()) return writer.status();
  Commit commit(**writer, binding, options);
  const auto groups = group_files(scan.files);
  std::atomic<bool> stop = false;
  const auto work = [&](std::size_t, std::size_t number) -> Status {
    Group group = commit.take_group();
    for (const CacheFile& file : groups[number]) {
      if (Status status = read_into(files, directory, file, group); !status.ok()) return status;
    }
    PackedSegment segment = commit.pack(group);
    return commit.commit(number, std::move(group), std::move(segment), stop);
  };
  Status status = base::in_parallel(groups.size(), options.threads, stop,
                                    [&](std::size_t worker, std::size_t number) {
                                      Status done = work(worker, number);
                                      if (!done.ok()) {
                                        stop.store(true);
                                        commit.wake();
                                      }
                                      return done;
                                    });
  if (!status.ok()) return status;
  if (Status done = (*writer)->finish(binding, options.key); !done.ok()) return done;
  const Index& index = (*writer)->index();
  return Packed{.entries = index.entries.size(),
                .contents = index.contents.size(),
                .raw_bytes = index.entry_bytes(),
                .file_bytes = (*writer)->file_bytes(),
                .vanished = commit.vanished,
                .content = base::hex(content_identity(index))};
}

}  // namespace headway::cache
