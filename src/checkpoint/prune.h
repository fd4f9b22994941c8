// Removes the checkpoints of a folder that a policy no longer wants. The caller holds the folder's
// lock (lock.h). Each goes by its name first, a delta before its base, else the oldest first,
// and only after LATEST names one that stays: whatever call a crash comes before, what can still be
// listed is whole. LATEST names the newest good one then, also if it was missing or named another.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"
#include "checkpoint/look.h"
#include "checkpoint/retention.h"

namespace headway::checkpoint {

struct PrunePlan {
  std::vector<Look> looks;  // the newest first
  std::vector<Fate> fates;  // of each
  [[nodiscard]] std::uint64_t bytes_removed() const;
};

// Looks, and removes nothing. By manifests and sizes: for a caller that has just written the
// newest. `damaged`: paths of some that somebody has read and found to be.
base::Result<PrunePlan> plan_prune(base::FileSystem& files, const std::string& folder,
                                   const RetentionPolicy& policy,
                                   const std::vector<std::string>& damaged = {});
// And where anything is to go, the newest one that stays is good by `deep`, too, which reads it;
// with `all`, whatever counts is. Those that are not are damaged ones.
base::Result<PrunePlan> plan_checked_prune(base::FileSystem& files, const std::string& folder,
                                           const RetentionPolicy& policy, const DeepCheck& deep,
                                           bool all);
base::Status execute_prune(base::FileSystem& files, const std::string& folder,
                           const PrunePlan& plan);

}  // namespace headway::checkpoint
