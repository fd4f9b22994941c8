// The holder of this machine's replicas (replica/holder.h), as the agent keeps it: started when a
// rank first asks for it, started again when it dies, told to write and end when the run does. It
// does not die with the agent but writes what is newest first, so it is not marked as the run's.
// Main thread only; nothing but open() and finish() waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace headway::agent {

class ReplicaKeeper {
 public:
  ReplicaKeeper() = default;
  ReplicaKeeper(const ReplicaKeeper&) = delete;
  ReplicaKeeper& operator=(const ReplicaKeeper&) = delete;

  // `folder` in shared memory, of this job alone. One who still writes there (the holder of an
  // agent that was killed) is waited for; `waiting` is called if that takes a while.
  base::Status open(const std::string& folder, const std::function<void()>& waiting);
  [[nodiscard]] const std::string& folder() const { return folder_; }  // "": there is none

  // Readable when a rank asks and no holder runs; -1: nobody has to watch.
  [[nodiscard]] int fd() const { return pid_ == 0 && !gave_up_ ? listener_.get() : -1; }
  // Its number, for those who would kill what they do not know; 0: it could not be started.
  pid_t start_holder();
  // Somebody's wait has taken its exit. True: it was the holder's. One that ends by itself again
  // and again is not started any more; one that is killed is.
  bool on_reaped(pid_t pid, bool killed);

  // Nobody trains any more: it writes what is newest, gives its memory back and ends.
  void let_end() { alive_.reset(); }
  // The same, and waits for that. `waiting` as above. False: the newest
  // checkpoint should be in an object store, and is not there yet.
  bool finish(const std::function<void()>& waiting);

 private:
  std::string folder_;
  base::UniqueFd listener_;
  base::UniqueFd alive_;  // our end of a pipe: closed, it tells the holder to end
  pid_t pid_ = 0;
  std::int64_t started_ns_ = 0;
  int short_lives_ = 0;
  bool gave_up_ = false;
};

// Where the replicas of a job lie: <shared memory>/headway-<user>/<job>-<digits>. `identity` tells
// jobs of one name apart.
[[nodiscard]] std::string replica_folder(const std::string& shared_memory, const std::string& job,
                                         const std::string& identity);

}  // namespace headway::agent
