// An object store as the place that a job's checkpoints are copied to (archive.h).
#pragma once

#include <memory>
#include <string>

#include "checkpoint/archive.h"
#include "checkpoint/remote.h"

namespace headway::checkpoint {

class RemoteArchive final : public Archive {
 public:
  RemoteArchive(object_store::RealStore store, std::string prefix)
      : store_(std::move(store)), remote_(*store_.store, std::move(prefix)) {}

  base::Result<std::vector<StoredCheckpoint>> list() override;
  base::Result<std::string> manifest_text(const CheckpointName& name) override;
  base::Status upload(const CheckpointFolder& from, const UploadPlan::One& one) override;
  base::Status anchor(const CheckpointFolder& from, const UploadPlan::One& one) override;
  base::Result<StoredState> state_of(const CheckpointName& name) override;
  base::Status remove(const CheckpointName& name) override;

 private:
  object_store::RealStore store_;
  RemoteCheckpoints remote_;
};

// With the credentials of this process's environment or profile, looked up anew each time.
base::Result<std::unique_ptr<Archive>> open_archive(const std::string& place,
                                                    const std::atomic<bool>& stop);

}  // namespace headway::checkpoint
