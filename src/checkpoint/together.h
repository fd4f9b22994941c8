// A checkpoint that several machines write, each the files of its own ranks, into one folder on a
// file system that all of them share. They speak to each other by that folder alone:
//
//   <folder>/.parts-<attempt>-<step>-<run>/    and with "-end" of the last one of a run
//       rank-00003.safetensors   written by whoever has that rank
//       part-00002.json          a manifest of one machine's files, which are durable by then;
//                                named by its lowest rank
//       have-00003               at the end of a run: this rank has this step
//       failed-00002             that machine gave it up, full-00002: for want of room. From then
//                                on it can only fail, also for those who come later
//       alive-00002-00007        that machine still works on it; the number rises
//
// The machine with rank 0 leads. When the parts name a file of every rank it commits them as any
// other draft (folder.h): the folder gets a manifest and then the checkpoint's name. The others see
// that by their own files' checksums in the new checkpoint's manifest. A machine that died at any
// point is followed by one that goes on: nothing here is known to a process alone.
//
// No call waits for another machine: look() is called again and again. One thread. The leader has
// the folder's lock (lock.h).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"

namespace headway::checkpoint {

struct PartsName {
  std::uint64_t attempt = 0;
  std::uint64_t step = 0;
  bool end = false;       // of a run: what was given up before is tried once more
  std::uint64_t run = 0;  // which attempt of that number
  [[nodiscard]] std::string text() const;
  static std::optional<PartsName> parse(std::string_view text);
  friend auto operator<=>(const PartsName&, const PartsName&) = default;
};

class Together {
 public:
  // `part`: what this machine adds, with its files as they will be.
  Together(CheckpointFolder& folder, const PartsName& name, Manifest part);

  [[nodiscard]] bool leads() const { return lowest_ == 0; }
  // It is there already.
  base::Result<std::optional<CheckpointName>> find_committed() const;
  // Makes the folder, if nobody has yet. The leader also takes away what earlier ones left there:
  // steps before this one, and attempts after `newest_attempt`, of which nobody has heard. Then
  // as look().
  base::Result<std::optional<CheckpointName>> begin(std::uint64_t newest_attempt);
  // This machine's part is there, published by somebody who died.
  [[nodiscard]] bool is_published() const;
  // A new file, for the entry of that name; what is left of an older one goes.
  base::Result<std::unique_ptr<DraftFile>> add(const std::string& name);
  // When all files are finished.
  base::Status publish();
  // The checkpoint, when it is there: the leader commits it when it can. None: not yet. An error:
  // it will not be.
  base::Result<std::optional<CheckpointName>> look();
  // Gives it up for all. Not after publish(), but for the leader.
  void fail(bool full);
  // What the others leave to be seen. `signs`: changes as long as those that are waited for work.
  void beat();
  [[nodiscard]] const std::string& signs() const { return signs_; }
  // Of whom nothing has come: "rank 4" or "rank 4 and 3 more".
  [[nodiscard]] std::string missing() const;

  // At the end of a run: this machine's ranks have that step. Steps are told newest first, so when
  // one is had by all, so are all newer ones that are.
  static base::Status tell_have(CheckpointFolder& folder, const PartsName& name,
                                const Manifest& part);
  // All ranks have told.
  static base::Result<bool> all_have(const CheckpointFolder& folder, const PartsName& name,
                                     std::uint32_t world_size);
  // Nothing came of it.
  static void untell_have(CheckpointFolder& folder, const PartsName& name, const Manifest& part);

 private:
  [[nodiscard]] std::string part_name() const;
  [[nodiscard]] bool is_ours(const Manifest& manifest) const;
  base::Status read_part(const std::string& name);
  base::Result<std::optional<CheckpointName>> commit();
  void remove_own();

  CheckpointFolder& folder_;
  base::FileSystem& files_;
  const PartsName name_;
  const std::string path_;
  const Manifest part_;
  const std::uint32_t lowest_;
  ManifestFile written_;          // of the file that is being written; what counts is in part_
  std::unique_ptr<Draft> draft_;  // the leader's
  std::map<std::string, Manifest> parts_;  // that it has read, by the names of their files
  std::string signs_;
  std::uint64_t beats_ = 0;
};

}  // namespace headway::checkpoint
