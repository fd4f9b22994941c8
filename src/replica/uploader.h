// Copies a folder's checkpoints to a store in the background, on a thread of its own: the next save
// never waits for the network. What is there and what is missing is looked up on both sides
// (checkpoint/upload_plan.h), so it may be killed at any time and the next one goes on.
//
// A store that does not answer is told once and tried again, ever more rarely. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/back_off.h"
#include "base/status.h"
#include "checkpoint/archive.h"

namespace headway::replica {

struct UploadTarget {
  std::string place;  // "s3://bucket/prefix"; empty: none
  std::string folder;
  std::uint32_t keep = 0;  // of them there; 0: all
  bool operator==(const UploadTarget&) const = default;
};

struct UploaderOptions {
  checkpoint::OpenArchive open;
  // From the uploader's thread. `skipped`: since the last one, and will not go up any more.
  std::function<void(const checkpoint::CheckpointName& name, const std::string& place,
                     std::uint32_t skipped)>
      uploaded;
  // What is wrong, when it is not what was wrong before.
  std::function<void(const std::string& problem)> troubled;
  std::function<void()> rested = [] {};      // settled() or failed() may have become true
  std::int64_t shortest_ns = 1'000'000'000;  // between tries
  std::int64_t longest_ns = 300'000'000'000;
};

class Uploader {
 public:
  explicit Uploader(UploaderOptions options);
  ~Uploader();  // as give_up()
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // From where to where; and has a look. Another place than before is looked at from its beginning.
  void aim(const UploadTarget& target);
  // Something was committed.
  void look();
  // What failed is tried again at once.
  void hurry();
  // Nothing is sent any more, what is under way is cut off; it can be gone on with.
  void give_up();

  // All that should be there is.
  [[nodiscard]] bool settled() const;
  // The last try came to nothing, and nothing is under way.
  [[nodiscard]] bool failed() const;
  // `work` with the one that is being read just now, which must not be removed; no other is begun
  // meanwhile.
  void while_reading(
      const std::function<void(const std::optional<checkpoint::CheckpointName>&)>& work);

 private:
  void stay();
  [[nodiscard]] bool has_to_go() const;
  base::Status pass(const UploadTarget& target);
  base::Status connect(const UploadTarget& target);
  base::Status learn(const std::vector<checkpoint::LocalCheckpoint>& folder);
  base::Result<std::vector<checkpoint::LocalCheckpoint>> folder_now(
      const checkpoint::CheckpointFolder& folder) const;
  void count_skipped(const checkpoint::UploadPlan& plan);
  base::Status send(const checkpoint::CheckpointFolder& folder,
                    const checkpoint::UploadPlan::One& one, const std::string& manifest);
  base::Status tidy(const checkpoint::CheckpointFolder& folder, const UploadTarget& target,
                    const checkpoint::UploadPlan& plan);
  void tell(const base::Status& status);

  const UploaderOptions options_;
  std::atomic<bool> stop_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  UploadTarget target_;
  bool dirty_ = false;
  bool busy_ = false;
  bool failed_ = false;
  bool leave_ = false;
  bool hurried_ = false;

  std::mutex reading_mutex_;
  std::optional<checkpoint::CheckpointName> reading_;

  // The thread's own.
  UploadTarget known_target_;
  std::unique_ptr<checkpoint::Archive> archive_;
  std::vector<checkpoint::StoredCheckpoint> store_;  // the newest first
  std::set<std::string> looked_at_;                  // of the store, and their manifests read
  std::set<std::string> anchored_;                   // of the store, by us
  std::set<std::string> damaged_;                    // of the folder
  std::set<std::string> skipped_;                    // of the folder
  std::uint32_t newly_skipped_ = 0;
  std::string told_;
  base::BackOff back_off_;
  std::thread thread_;
};

}  // namespace headway::replica
