#include "cache/pack.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
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

// The files of one segment, read.
struct Group {
  std::vector<std::byte> raw;
  std::vector<ReadFile> files;
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
  ReadFile read{.file = &file, .begin = group.raw.size()};
  auto input = files.open(directory + "/" + file.path);
  // Caches change while they are packed: what is gone, or is about to be another, is left out.
  read.vanished = !input.ok() && input.status().code() == base::Code::not_found;
  if (!input.ok() && !read.vanished) return input.status();
  if (!read.vanished && (*input)->bytes() != file.bytes) read.vanished = true;
  if (!read.vanished) {
    group.raw.resize(read.begin + file.bytes);
    const Status status = (*input)->read(0, std::span(group.raw).subspan(read.begin));
    if (!status.ok()) return status;
    const std::string_view text(reinterpret_cast<const char*>(group.raw.data()) + read.begin,
                                file.bytes);
    if (const auto placeless = without_place(file.path, text)) {
      read.relocated = true;
      group.raw.resize(read.begin);
      const auto bytes = base::bytes_of(*placeless);
      group.raw.insert(group.raw.end(), bytes.begin(), bytes.end());
    }
    read.bytes = group.raw.size() - read.begin;
    read.sha256 = base::sha256(std::span(group.raw).subspan(read.begin));
  }
  group.files.push_back(read);
  return {};
}

// Takes groups in their order, whichever thread is ready first.
class Commit {
 public:
  Commit(ArchiveWriter& writer, const Binding& binding, const PackOptions& options)
      : writer_(writer), binding_(binding), options_(options) {}

  // The contents of a group that no earlier one had, as far as is known yet.
  PackedSegment pack(const Group& group) {
    std::unique_lock lock(mutex_);
    std::vector<ContentRecord> contents;
    std::vector<std::byte> raw;
    std::map<base::Sha256, bool> own;
    std::vector<const ReadFile*> fresh;
    for (const ReadFile& file : group.files) {
      if (file.vanished || writer_.has(file.sha256) || !own.emplace(file.sha256, true).second) {
        continue;
      }
      fresh.push_back(&file);
      contents.push_back({file.sha256, file.bytes});
    }
    lock.unlock();
    if (fresh.size() == group.files.size()) return pack_segment(std::move(contents), group.raw);
    for (const ReadFile* file : fresh) {
      const auto bytes = std::span(group.raw).subspan(file->begin, file->bytes);
      raw.insert(raw.end(), bytes.begin(), bytes.end());
    }
    return pack_segment(std::move(contents), raw);
  }

  Status commit(std::size_t number, const Group& group, PackedSegment segment,
                const std::atomic<bool>& stop) {
    {
      std::unique_lock lock(mutex_);
      turn_.wait(lock, [&] { return next_ == number || stop.load(); });
      if (next_ != number) return {};  // another one's error is told
      for (const ContentRecord& content : segment.contents) {
        if (!writer_.has(content.sha256)) continue;
        lock.unlock();  // a group before this one had it, too; nobody else commits meanwhile
        segment = pack(group);
        lock.lock();
        break;
      }
      if (Status status = add(group, segment); !status.ok()) return status;
      ++next_;
    }
    turn_.notify_all();
    return {};
  }

  void wake() {
    const std::lock_guard lock(mutex_);
    turn_.notify_all();
  }

  std::size_t vanished = 0;

 private:
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

  ArchiveWriter& writer_;
  const Binding& binding_;
  const PackOptions& options_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t next_ = 0;
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
    Group group;
    for (const CacheFile& file : groups[number]) {
      if (Status status = read_into(files, directory, file, group); !status.ok()) return status;
    }
    return commit.commit(number, group, commit.pack(group), stop);
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
