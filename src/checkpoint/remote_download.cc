// From a store into a local folder: the next stretch is on its way while the last one is compared
// and written. What was cut off goes on where it was: the only record of what is there are the
// bytes themselves, compared with the manifest.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "checkpoint/checked_source.h"
#include "checkpoint/look.h"
#include "checkpoint/remote.h"

namespace headway::checkpoint {
namespace {

using base::FileSystem;
using base::FolderEntry;
using base::OutputFile;
using base::Result;
using base::Status;
using object_store::Store;

constexpr int kReadsMax = 2;  // of a stretch that is not what the manifest says
constexpr std::string_view kFetchPrefix = ".fetch-";

// One object into one file, from `begin` on: a chunk's beginning.
class FileDownload {
 public:
  FileDownload(Store& store, std::string key, const ManifestFile& entry, OutputFile& file,
               std::uint64_t begin)
      : store_(store),
        key_(std::move(key)),
        entry_(entry),
        file_(file),
        begin_(begin),
        check_(begin) {
    stretch_ = store.options().range_bytes * store.options().connections;
    // Whole chunks, so that the stretch that is damaged is the one that is read again.
    if (entry.chunk_bytes <= checked_chunk_bytes_max) {
      stretch_ = std::max<std::uint64_t>(1, stretch_ / entry.chunk_bytes) * entry.chunk_bytes;
    }
  }

  Status run(std::atomic<std::uint64_t>* done_bytes) {
    auto info = store_.head(key_);
    if (!info.ok()) return info.status();
    if (info->bytes != entry_.bytes) {
      return Status::corrupt(fmt::format("{}: {} bytes, its manifest says {}", store_.place(key_),
                                         info->bytes, entry_.bytes));
    }
    etag_ = info->etag;
    Status fetched = fetch(begin_);
    for (std::uint64_t begin = begin_; begin < entry_.bytes; begin += stretch_) {
      if (!fetched.ok()) return fetched;
      const std::uint64_t next = begin + stretch_;
      auto coming = std::async([&] { return fetch(next); });
      Status status = take(begin);
      fetched = coming.get();
      if (!status.ok()) return status;
      if (done_bytes != nullptr) *done_bytes += room(begin).size();
    }
    return {};
  }

 private:
  // Two stretches in turn.
  std::span<std::byte> room(std::uint64_t begin) {
    std::vector<std::byte>& buffer = buffers_[(begin - begin_) / stretch_ % 2];
    const std::uint64_t bytes = std::min(stretch_, entry_.bytes - std::min(begin, entry_.bytes));
    if (buffer.size() < bytes) buffer.resize(bytes);
    return std::span(buffer).first(bytes);
  }

  Status fetch(std::uint64_t begin) {
    if (begin >= entry_.bytes) return {};
    return store_.get(key_, etag_, begin, room(begin));
  }

  Status take(std::uint64_t begin) {
    const std::span<std::byte> data = room(begin);
    for (int reads = 1;; ++reads) {
      ChunkCheck check = check_;
      const auto bad = check.add(entry_, data);
      if (!bad) {
        check_ = check;
        return file_.write(begin, data);
      }
      if (reads == kReadsMax) return damaged(store_.place(key_), entry_, *bad);
      if (Status status = store_.get(key_, etag_, begin, data); !status.ok()) return status;
    }
  }

  Store& store_;
  const std::string key_;
  const ManifestFile& entry_;
  OutputFile& file_;
  const std::uint64_t begin_;
  std::uint64_t stretch_ = 0;
  std::string etag_;
  ChunkCheck check_;
  std::vector<std::byte> buffers_[2];
};

// Where bytes go that are only compared.
class Nowhere final : public OutputFile {
 public:
  Status write(std::uint64_t, std::span<const std::byte>) override { return {}; }
  Status sync() override { return {}; }
  Status close() override { return {}; }
};

// How many bytes of the file are there and right, in whole chunks.
std::uint64_t good_front(FileSystem& files, const std::string& path, const ManifestFile& entry) {
  auto file = files.open(path);
  if (!file.ok() || entry.chunk_bytes > checked_chunk_bytes_max) return 0;
  std::vector<std::byte> buffer(std::min(entry.chunk_bytes, entry.bytes));
  std::uint64_t at = 0;
  while (at < entry.bytes) {
    const auto chunk = std::span(buffer).first(std::min(entry.chunk_bytes, entry.bytes - at));
    if (!(*file)->read(at, chunk).ok()) break;  // it ends here
    if (ChunkCheck(at).add(entry, chunk)) break;
    at += chunk.size();
  }
  return at;
}

// The folder that it grows in, with nothing in it that the manifest does not name. What was begun
// of others goes: nobody would end it.
Status prepare(FileSystem& files, const std::string& folder, const std::string& path,
               const Manifest& manifest) {
  if (Status status = make_folders(files, folder); !status.ok()) return status;
  auto entries = files.list(folder);
  if (!entries.ok()) return entries.status();
  for (const FolderEntry& entry : *entries) {
    const std::string other = folder + "/" + entry.name;
    if (!entry.is_folder || !entry.name.starts_with(kFetchPrefix) || other == path) continue;
    if (Status status = remove_folder_of_files(files, other); !status.ok()) return status;
  }
  if (Status status = files.make_folder(path); !status.ok()) return status;
  auto inside = files.list(path);
  if (!inside.ok()) return inside.status();
  for (const FolderEntry& entry : *inside) {
    const bool named =
        std::any_of(manifest.files.begin(), manifest.files.end(), [&](const ManifestFile& file) {
          return file.name == entry.name && file.bytes >= entry.bytes && !entry.is_link;
        });
    if (named) continue;
    if (Status status = files.remove_file(path + "/" + entry.name); !status.ok()) return status;
  }
  return {};
}

// It gets its number from where it comes, unless the folder has gone past that.
Status commit(FileSystem& files, const CheckpointFolder& into, const std::string& path,
              const std::string& text, CheckpointName& name) {
  Status status =
      base::replace_file(files, fmt::format("{}/{}", path, manifest_name), base::bytes_of(text));
  if (!status.ok()) return status;
  auto names = into.list();
  if (!names.ok()) return names.status();
  if (!names->empty()) name.sequence = std::max(name.sequence, names->front().sequence + 1);
  if (status = files.rename(path, into.path_of(name)); !status.ok()) return status;
  if (status = files.sync_folder(into.path()); !status.ok()) return status;
  return base::replace_file(files, fmt::format("{}/{}", into.path(), latest_name),
                            base::bytes_of(name.text() + "\n"));
}

// The same one, if the folder has it.
std::optional<CheckpointName> same_in(FileSystem& files, const CheckpointFolder& folder,
                                      const CheckpointName& wanted, const std::string& text) {
  auto names = folder.list();
  if (!names.ok()) return std::nullopt;
  for (const CheckpointName& name : *names) {
    if (name.step != wanted.step) continue;
    auto there = base::read_all(files, fmt::format("{}/{}", folder.path_of(name), manifest_name),
                                manifest_bytes_max);
    if (there.ok() && *there == text && folder.read_sized(name).ok()) return name;
  }
  return std::nullopt;
}

}  // namespace

Status RemoteCheckpoints::fetch_file(const CheckpointName& name, const ManifestFile& entry,
                                     FileSystem& files, const std::string& path, CopyReport& report,
                                     std::atomic<std::uint64_t>* done_bytes) const {
  const std::uint64_t front = good_front(files, path, entry);
  if (done_bytes != nullptr) *done_bytes += front;
  auto file = files.reopen(path);
  if (file.status().code() == base::Code::not_found) {
    file = files.create(path, {.bytes = entry.bytes});
  }
  if (!file.ok()) return file.status();
  if (front < entry.bytes || entry.bytes == 0) {
    FileDownload one(store_, folder_key(name) + entry.name, entry, **file, front);
    if (Status status = one.run(done_bytes); !status.ok()) return status;
  }
  report.bytes_sent += entry.bytes - front;
  Status status = (*file)->sync();
  if (Status closed = (*file)->close(); status.ok()) status = closed;
  return status;
}

Result<VerifyReport> RemoteCheckpoints::verify(const CheckpointName& name,
                                               std::atomic<std::uint64_t>* done_bytes) const {
  auto manifest = read(name);
  if (!manifest.ok() && manifest.status().code() != base::Code::corrupt) return manifest.status();
  VerifyReport report;
  if (!manifest.ok()) {
    report.damages.push_back({std::string(manifest_name), manifest.status().message(), {}, {}, {}});
    return report;
  }
  report.files = manifest->files.size();
  for (const ManifestFile& entry : manifest->files) {
    Nowhere nowhere;
    const std::string key = folder_key(name) + entry.name;
    Status status = FileDownload(store_, key, entry, nowhere, 0).run(done_bytes);
    if (status.code() == base::Code::not_found) {
      status = Status::corrupt(store_.place(key) + ": missing");
    }
    if (!status.ok() && status.code() != base::Code::corrupt) return status;
    if (status.ok()) report.bytes += entry.bytes;
    if (status.ok()) continue;
    if (report.damages.size() == damages_max) {
      ++report.more_damages;
    } else {
      report.damages.push_back({entry.name, status.message(), {}, {}, {}});
    }
  }
  return report;
}

Result<CopyReport> RemoteCheckpoints::download(const CheckpointName& name,
                                               const CheckpointFolder& into,
                                               std::atomic<std::uint64_t>* done_bytes) const {
  FileSystem& files = into.files();
  auto text = manifest_text(name);
  if (!text.ok()) return text.status();
  auto manifest = parse(name, *text);
  if (!manifest.ok()) return manifest.status();
  CopyReport report{.name = name, .files = manifest->files.size(), .bytes = total_bytes(*manifest)};
  if (const auto same = same_in(files, into, name, *text)) {
    report.name = *same;
    report.was_there = true;
    if (done_bytes != nullptr) *done_bytes += report.bytes;
    return report;
  }
  const std::string path = fmt::format("{}/{}{}", into.path(), kFetchPrefix, name.text());
  if (Status status = prepare(files, into.path(), path, *manifest); !status.ok()) return status;
  for (const ManifestFile& entry : manifest->files) {
    Status status = fetch_file(name, entry, files, path + "/" + entry.name, report, done_bytes);
    if (!status.ok()) return status;
  }
  if (Status status = commit(files, into, path, *text, report.name); !status.ok()) return status;
  return report;
}

}  // namespace headway::checkpoint
