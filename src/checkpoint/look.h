// What is in a folder of checkpoints, without reading more than manifests and names; and which
// checkpoint a path means.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"

namespace headway::checkpoint {

inline constexpr std::string_view latest_name = "LATEST";

// The manifest of the checkpoint at `path`. Where the folder's name tells a step, it is that one.
base::Result<Manifest> read_manifest(base::FileSystem& files, const std::string& path);
// Every file that the manifest names is there, of its size, and no link to somewhere else.
// `bad` is called for each that is not so, with its entry (none: the manifest itself).
using BadFile = std::function<void(const ManifestFile* file, base::Status status)>;
base::Status find_bad_files(base::FileSystem& files, const std::string& path,
                            const Manifest& manifest, const BadFile& bad);
// Where the base of a delta at `path` lies: beside it, and committed before it.
base::Result<std::string> base_path(const std::string& path, const Manifest& manifest);
// That what a delta is based on is there too, to the beginning of the chain.
base::Status check_bases(base::FileSystem& files, std::string path, Manifest manifest);
// Of the files that make up what is saved there, those of its bases among them.
base::Result<std::uint64_t> bytes_to_read(base::FileSystem& files, std::string path);
// The first of them.
base::Status check_files(base::FileSystem& files, const std::string& path,
                         const Manifest& manifest);

struct Look {
  CheckpointName name;
  std::string path;
  base::Status state;       // good, or what is wrong with it
  Manifest manifest;        // as far as it could be read
  std::uint64_t bytes = 0;  // by the manifest; of one that is not good, of the files that are there
  bool anchor = false;
  bool is_link = false;     // leads elsewhere: ours to read, not to remove
  bool unfinished = false;  // no manifest: its removal was cut short, or it never was one
  bool read = false;        // to its last byte: `state` is by that
};
// The newest first. A folder that is not there is an error, not an empty one. `deep`: called for
// each one that looks good; what it says is its state.
using DeepCheck = std::function<base::Status(const std::string& path)>;
base::Result<std::vector<Look>> look_at_all(base::FileSystem& files, const std::string& folder,
                                            const DeepCheck& deep = {});
// One that looks good, read: what `deep` says is its state.
void read_deeply(Look& look, const DeepCheck& deep);

// A path as a person gives it: a checkpoint, a folder of checkpoints (then the newest good one), or
// FOLDER/LATEST. Those that were passed over, and why, go into `passed`. `before`: one of the
// folder that was tried and is not good after all; an older one is looked for.
base::Result<std::string> find_checkpoint(base::FileSystem& files, const std::string& path,
                                          std::vector<std::string>& passed,
                                          const std::string& before = "");
// There is a manifest, or it cannot be told that there is none.
bool is_checkpoint(base::FileSystem& files, const std::string& path);

// "dir/" is "dir"; "/" and "s3://" stay.
[[nodiscard]] std::string without_last_slash(std::string path);
[[nodiscard]] std::string last_name_of(const std::string& path);

}  // namespace headway::checkpoint
