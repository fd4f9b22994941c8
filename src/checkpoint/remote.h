// Checkpoints in an object store, under a prefix, in the same shape as in a folder (folder.h):
//
//   <prefix>/step-00000100-000007/shard-….safetensors
//   <prefix>/step-00000100-000007/ANCHOR                 if it was one when it went up
//   <prefix>/step-00000100-000007/MANIFEST.json          last; without it the rest is waste
//   <prefix>/LATEST
//
// A store has no rename: the manifest, one small object that is there or not, is the commit. It
// goes up when every file has been confirmed, and it goes first when a checkpoint is removed.
// Nothing that is there is ever replaced, LATEST excepted.
//
// One writer to a prefix at a time, by a lock of the caller's; readers need none.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/look.h"
#include "checkpoint/manifest.h"
#include "checkpoint/verify.h"
#include "object_store/store.h"

namespace headway::checkpoint {

struct CopyReport {
  CheckpointName name;  // where it went
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;       // of all files
  std::uint64_t bytes_sent = 0;  // over the network; the rest was there
  bool was_there = false;        // all of it, committed
};

class RemoteCheckpoints {
 public:
  // `prefix` without slashes at its ends; empty: the bucket itself.
  RemoteCheckpoints(object_store::Store& store, std::string prefix)
      : store_(store), prefix_(std::move(prefix)) {}

  [[nodiscard]] std::string place() const { return store_.place(prefix_); }
  [[nodiscard]] std::string place_of(const CheckpointName& name) const;

  // All that begin like checkpoints, half ones too; the newest first.
  base::Result<std::vector<CheckpointName>> names() const;
  // Those with a manifest, the newest first.
  base::Result<std::vector<CheckpointName>> list() const;
  // As look_at_all() of a folder (look.h), without reading more than manifests and lists; so many
  // of the newest good ones and what is newer than them.
  base::Result<std::vector<Look>> look(std::size_t good_max) const;
  base::Result<Look> look_at(const CheckpointName& name) const;
  base::Result<std::string> manifest_text(const CheckpointName& name) const;
  base::Result<Manifest> read(const CheckpointName& name) const;
  // The newest whose manifest is good and whose files are there with their sizes. Those that were
  // passed over, and why, go into `passed`. Whether every byte is right shows when it is read.
  base::Result<std::optional<CheckpointFolder::Good>> newest_good(
      std::vector<std::string>& passed) const;

  // A committed checkpoint of a local folder. Bytes that are not those of its manifest do not go
  // up. Cut off, it is no checkpoint, and the next call sends what is missing. `done_bytes`, where
  // given, grows to the sum of the files' sizes. `as`: its name there, where it is another one.
  base::Result<CopyReport> upload(const CheckpointFolder& from, base::FileSystem& files,
                                  const CheckpointName& name,
                                  std::atomic<std::uint64_t>* done_bytes = nullptr,
                                  std::optional<CheckpointName> as = std::nullopt);
  // It is kept forever; `note` as in anchor.h.
  base::Status set_anchor(const CheckpointName& name, const std::string& note);
  base::Result<bool> is_anchor(const CheckpointName& name) const;

  // Into a local folder: there it is committed or not at all, under its own number or the folder's
  // next, whichever is higher. Every chunk is compared with the manifest's checksum on its way. Cut
  // off, what has come stays in <folder>/.fetch-…, and the next call gets what is missing. One that
  // the folder has already is not read again.
  base::Result<CopyReport> download(const CheckpointName& name, const CheckpointFolder& into,
                                    std::atomic<std::uint64_t>* done_bytes = nullptr) const;

  // Reads every byte and compares; of each file the first damage. What is in its tensors is not
  // looked at.
  base::Result<VerifyReport> verify(const CheckpointName& name,
                                    std::atomic<std::uint64_t>* done_bytes = nullptr) const;

  // Its manifest first; then its files, and what uploads of it were left half.
  base::Status remove(const CheckpointName& name);

 private:
  [[nodiscard]] std::string key(const std::string& rest) const;
  [[nodiscard]] std::string folder_key(const CheckpointName& name) const;
  [[nodiscard]] std::string manifest_key(const CheckpointName& name) const;
  [[nodiscard]] std::string anchor_key(const CheckpointName& name) const;
  base::Result<Manifest> parse(const CheckpointName& name, const std::string& text) const;
  base::Status check_files(const CheckpointName& name, const Manifest& manifest,
                           const object_store::Listing& listing) const;
  base::Status check_files(const CheckpointName& name, const Manifest& manifest) const;
  base::Status fetch_file(const CheckpointName& name, const ManifestFile& entry,
                          base::FileSystem& files, const std::string& path, CopyReport& report,
                          std::atomic<std::uint64_t>* done_bytes) const;
  base::Status send_files(const CheckpointFolder& from, base::FileSystem& files,
                          const CheckpointName& name, const CheckpointName& as,
                          const Manifest& manifest, CopyReport& report,
                          std::atomic<std::uint64_t>* done_bytes);
  base::Status point_latest();

  object_store::Store& store_;
  const std::string prefix_;
};

}  // namespace headway::checkpoint
