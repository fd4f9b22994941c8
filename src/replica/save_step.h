// A step to disk, and away from it what retention no longer wants: what the holder's disk thread
// does. A disk that is full is no reason to keep more than was asked for: then what is too many
// goes first, and the save is tried once more. An error says what to do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/retention.h"
#include "replica/slot.h"

namespace headway::replica {

struct SaveOrder {
  std::string folder;
  std::string job;
  checkpoint::RetentionPolicy keep;    // `last` 0: all
  std::string base{};                  // as for persist()
  std::uint32_t deltas_max = 0;        // behind a whole one, before the next has to be whole
  std::uint64_t newest_attempt = 0;    // that is known here
  std::vector<std::string> damaged{};  // paths of checkpoints that a restore has found to be
  // Calls `work` with the one that somebody reads just now, which must stay; none: nobody reads.
  using Thin = std::function<void(const std::optional<checkpoint::CheckpointName>&)>;
  std::function<void(const Thin& work)> while_reading = [](const Thin& work) {
    work(std::nullopt);
  };
};

// An error of a save into this folder, with what to do about it.
[[nodiscard]] base::Status with_advice(const base::Status& status, const std::string& folder);

// Away with what retention does not want. True: something went. `note` as below. `written`: just
// now, and so good, whatever had its name before.
bool thin_out(base::FileSystem& files, const SaveOrder& order,
              const std::function<void(const std::string&)>& note,
              const std::optional<checkpoint::CheckpointName>& written = {});

// Slots and `goes_on` as for persist(). `note` gets what went wrong with the removal: no reason to
// call the save a failure.
base::Result<checkpoint::CheckpointName> save_step(
    base::FileSystem& files, const SaveOrder& order,
    const std::vector<std::shared_ptr<Slot>>& slots, const std::function<bool()>& goes_on,
    const std::function<void(const std::string&)>& note);

}  // namespace headway::replica
