// A folder of checkpoints and the protocol by which one more gets into it:
//
//   <folder>/.draft-…               being written; whatever lies there after a crash is waste
//   <folder>/step-00000100-000007/  the seventh one, of step 100
//            MANIFEST.json          written last; where it is missing somebody has lost it
//            shard-….safetensors    named there with sizes and checksums
//   <folder>/.removing-step-…       one that goes; whatever lies there after a crash is waste
//   <folder>/LATEST                 the newest one's name, for people and scripts
//
// Files are synced before the manifest is written, the manifest before the folder gets its name,
// the name before LATEST, and all of that before anything older goes. So whatever call a crash
// comes before, a reader finds the old newest one or the new one, whole. Nothing is overwritten in
// place.
//
// One writer at a time, by a lock of the caller's; readers need none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/manifest.h"

namespace headway::checkpoint {

inline constexpr std::uint64_t default_chunk_bytes = 4 << 20;
inline constexpr std::string_view parts_prefix = ".parts-";  // of what several machines write

// By its folder's name.
struct CheckpointName {
  std::uint64_t step = 0;
  std::uint64_t sequence =
      0;  // rises with every commit, also when a job went back to an older step
  [[nodiscard]] std::string text() const;
  static std::optional<CheckpointName> parse(std::string_view text);
};

// One file of a draft, written from front to back.
class DraftFile {
 public:
  DraftFile(std::unique_ptr<base::OutputFile> file, ManifestFile& entry)
      : file_(std::move(file)), entry_(entry) {}
  base::Status write(std::span<const std::byte> data);
  // With the checksums of its chunks, made when the data was known to be good: damage that it took
  // since then is found by whoever reads the file. From a chunk's beginning on, and to the file's
  // end if the last one is not whole.
  base::Status write(std::span<const std::byte> data, std::span<const std::uint32_t> checksums);
  // Synced and closed; its entry is complete.
  base::Status finish();

 private:
  std::unique_ptr<base::OutputFile> file_;
  ManifestFile& entry_;
  std::uint64_t in_chunk_ = 0;
};

class CheckpointFolder {
 public:
  CheckpointFolder(base::FileSystem& files, std::string path)
      : files_(files), path_(std::move(path)) {}

  [[nodiscard]] base::FileSystem& files() const { return files_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(const CheckpointName& name) const;

  // The committed ones as far as names tell, the newest first.
  base::Result<std::vector<CheckpointName>> list() const;
  base::Result<Manifest> read(const CheckpointName& name) const;
  // And its files are there, in full.
  base::Result<Manifest> read_sized(const CheckpointName& name) const;
  // Reads everything and compares: sizes, checksums.
  base::Status verify(const CheckpointName& name) const;
  // The newest whose manifest is good and whose files have their sizes; with `deep`, whose every
  // byte is right. Those that were passed over, and why, go into `passed`.
  struct Good {
    CheckpointName name;
    Manifest manifest;
  };
  base::Result<std::optional<Good>> newest_good(bool deep, std::vector<std::string>& passed) const;

 private:
  friend class Draft;
  base::FileSystem& files_;
  const std::string path_;
};

// A checkpoint that is not there yet. What is not committed is removed with it.
class Draft {
 public:
  // Removes the waste of those that died before us.
  static base::Result<std::unique_ptr<Draft>> begin(CheckpointFolder& folder, Manifest facts);
  // In a folder beside the checkpoints that is there, with files of others (together.h), which
  // stay if it is not committed. `is_waste`: of the folders of such, by their names, those that go.
  static base::Result<std::unique_ptr<Draft>> over(
      CheckpointFolder& folder, Manifest facts, const std::string& name,
      const std::function<bool(std::string_view)>& is_waste);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  base::Result<std::unique_ptr<DraftFile>> add(const std::string& name, std::uint32_t rank,
                                               const base::CreateOptions& options);
  // For files that others write into it (shard.h); theirs are durable before they are taken.
  [[nodiscard]] const std::string& path() const { return path_; }
  void take(ManifestFile entry);
  // Durable when it returns well. After an error it may be there or not, but whole if it is. LATEST
  // is for people: one that cannot be written (a full disk) names an older one until the next
  // commit, and is no reason to call this a failure.
  base::Result<CheckpointName> commit();

 private:
  Draft(CheckpointFolder& folder, Manifest facts, std::uint64_t sequence, std::string path);

  CheckpointFolder& folder_;
  Manifest manifest_;
  CheckpointName name_;
  std::string path_;
  std::vector<std::unique_ptr<ManifestFile>> entries_;  // whose addresses the files keep
  bool gone_ = false;                                   // renamed: there is no draft any more
  bool stays_ = false;                                  // not ours to remove
};

// Takes the checkpoint away: its name first, so that half of it is never taken for one, nor for one
// that somebody has lost the manifest of.
base::Status remove_checkpoint(base::FileSystem& files, const std::string& path);
// What is left of such that were not removed to their end, as far as it goes.
void clear_removed(base::FileSystem& files, const std::string& folder);
// A folder of files, without folders in it.
base::Status remove_folder_of_files(base::FileSystem& files, const std::string& path);
// The folder with all those above it, durable: a folder's own name is in the one above.
base::Status make_folders(base::FileSystem& files, const std::string& path);

}  // namespace headway::checkpoint
