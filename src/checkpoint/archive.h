// A place outside of this machine that checkpoints are copied to, as the one who copies them sees
// it: no network in here, so that a trainer that saves has no need of libcurl. The real one is
// remote_archive.h. One thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/folder.h"
#include "checkpoint/upload_plan.h"

namespace headway::checkpoint {

class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  virtual ~Archive() = default;

  // The newest first, half ones too; without their manifests.
  virtual base::Result<std::vector<StoredCheckpoint>> list() = 0;
  virtual base::Result<std::string> manifest_text(const CheckpointName& name) = 0;
  // Whole or not at all; what was cut off goes on. With its anchor, if it has one.
  virtual base::Status upload(const CheckpointFolder& from, const UploadPlan::One& one) = 0;
  // One that is there gets the anchor that the folder's has.
  virtual base::Status anchor(const CheckpointFolder& from, const UploadPlan::One& one) = 0;
  virtual base::Result<StoredState> state_of(const CheckpointName& name) = 0;
  virtual base::Status remove(const CheckpointName& name) = 0;
};

// "s3://bucket/prefix". `stop` outlives it: set, what is under way ends soon, with an error.
using OpenArchive = std::function<base::Result<std::unique_ptr<Archive>>(
    const std::string& place, const std::atomic<bool>& stop)>;

}  // namespace headway::checkpoint
