// From a store into a local folder: the next stretch is on its way while the last one is compared
// and written.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "checkpoint/checked_source.h"
#include "checkpoint/remote.h"

namespace headway::checkpoint {
namespace {

using base::Result;
using base::Status;
using object_store::Store;

constexpr int kReadsMax = 2;  // of a stretch that is not what the manifest says

// One object into one file of a draft.
class FileDownload {
 public:
  FileDownload(Store& store, std::string key, const ManifestFile& entry, DraftFile& file)
      : store_(store), key_(std::move(key)), entry_(entry), file_(file) {
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
    Status fetched = fetch(0);
    for (std::uint64_t begin = 0; begin < entry_.bytes; begin += stretch_) {
      if (!fetched.ok()) return fetched;
      const std::uint64_t next = begin + stretch_;
      auto coming = std::async([&] { return fetch(next); });
      Status status = take(begin);
      fetched = coming.get();
      if (!status.ok()) return status;
      if (done_bytes != nullptr) *done_bytes += room(begin).size();
    }
    return file_.finish();
  }

 private:
  // Two stretches in turn.
  std::span<std::byte> room(std::uint64_t begin) {
    std::vector<std::byte>& buffer = buffers_[begin / stretch_ % 2];
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
        return file_.write(data);
      }
      if (reads == kReadsMax) return damaged(store_.place(key_), entry_, *bad);
      if (Status status = store_.get(key_, etag_, begin, data); !status.ok()) return status;
    }
  }

  Store& store_;
  const std::string key_;
  const ManifestFile& entry_;
  DraftFile& file_;
  std::uint64_t stretch_ = 0;
  std::string etag_;
  ChunkCheck check_;
  std::vector<std::byte> buffers_[2];
};

}  // namespace

Result<CopyReport> RemoteCheckpoints::download(const CheckpointName& name, CheckpointFolder& into,
                                               std::atomic<std::uint64_t>* done_bytes) const {
  auto manifest = read(name);
  if (!manifest.ok()) return manifest.status();
  CopyReport report{.name = name, .files = manifest->files.size()};
  auto draft = Draft::begin(into, *manifest);
  if (!draft.ok()) return draft.status();
  for (const ManifestFile& entry : manifest->files) {
    auto file = (*draft)->add(entry.name, entry.rank, {.bytes = entry.bytes});
    if (!file.ok()) return file.status();
    FileDownload one(store_, folder_key(name) + entry.name, entry, **file);
    if (Status status = one.run(done_bytes); !status.ok()) return status;
    report.bytes += entry.bytes;
  }
  auto committed = (*draft)->commit();
  if (!committed.ok()) return committed.status();
  report.name = *committed;
  report.bytes_sent = report.bytes;
  return report;
}

}  // namespace headway::checkpoint
