// Which checkpoint of a folder goes to a store next, and under which name. Pure: what both sides
// have is looked up each time, so whoever was killed goes on where it was.
//
// The newest goes first, and those with an anchor after it. An older one whose turn never came is
// left out. A checkpoint is the same on both sides if its manifest is, whatever its number: a
// folder that began anew has low numbers, and there it has to come behind what the store has
// already.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/folder.h"

namespace headway::checkpoint {

// A good one of the folder.
struct LocalCheckpoint {
  CheckpointName name;
  std::string manifest;  // its text
  bool anchor = false;
};

struct StoredCheckpoint {
  CheckpointName name;
  bool committed = false;
  std::string manifest{};  // as far as it was worth reading: of steps that the folder has
};

struct UploadPlan {
  struct One {
    CheckpointName name;  // in the folder
    CheckpointName as;    // in the store
  };
  std::optional<One> next;              // none: all that should be there is
  std::vector<CheckpointName> skipped;  // newer than what is there, and will not go up any more
  std::vector<One> anchors;             // of the folder, that are there
  std::vector<CheckpointName> waste;    // half ones in the store that nobody will end
};

// Both the newest first.
[[nodiscard]] UploadPlan plan_upload(const std::vector<LocalCheckpoint>& folder,
                                     const std::vector<StoredCheckpoint>& store);

// Those of a store that may go where `keep` are wanted: all behind the newest `keep` good ones, but
// anchors. What is not good counts for nothing and stays. None where an answer cannot be had.
struct StoredState {
  bool good = false;
  bool anchor = false;
};
using StateOf = std::function<base::Result<StoredState>(const CheckpointName& name)>;
base::Result<std::vector<CheckpointName>> plan_store_prune(
    const std::vector<StoredCheckpoint>& store, std::size_t keep, const StateOf& state_of);

}  // namespace headway::checkpoint
