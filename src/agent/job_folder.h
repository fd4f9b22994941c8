// The job's folder: $HEADWAY_DIR/<job>/ with a lock that admits one agent (of several
// nodes, one a node and one coordinator), and a folder for each
// attempt. Owned by the agent for the length of one `headway run`; single-threaded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "agent/identity.h"
#include "base/file.h"
#include "base/job_path.h"
#include "base/status.h"

namespace headway::agent {

// --dir, else $HEADWAY_DIR, else $XDG_STATE_HOME/headway, else ~/.local/state/headway. Absolute.
base::Result<std::string> state_root(const RunOptions& options);

// This machine's part in a job of several.
struct NodeSeat {
  std::string name;          // unique in the job
  bool coordinates = false;  // and so numbers the attempts
};

class JobFolder {
 public:
  // Makes and locks the folder. Code::invalid_input: another agent runs this job. Any other
  // failure: the place cannot be written, and the job can only run unmeasured.
  static base::Result<JobFolder> open(const std::string& root, const RunOptions& options,
                                      const std::optional<SlurmInfo>& slurm,
                                      const std::tm& local_time, const std::string& run_id,
                                      const std::optional<NodeSeat>& node = {});

  [[nodiscard]] const std::string& job() const { return job_; }
  [[nodiscard]] const std::string& root() const { return root_; }
  // The mark of the processes that the agent before us has started on this host; "": none.
  [[nodiscard]] const std::string& previous_run() const { return previous_run_; }
  [[nodiscard]] AttemptId first_attempt() const { return first_; }
  // The highest id that the folder held when we came; 0: it held none.
  [[nodiscard]] std::uint64_t highest_before() const { return highest_; }
  // `from`, or a later attempt of the same allocation: a launcher that we run may have restarted
  // its ranks, and they made folders of their own.
  [[nodiscard]] AttemptId newest_attempt(AttemptId from) const;
  [[nodiscard]] std::string attempt_path(AttemptId id) const {
    return base::attempt_dir(root_, job_, id.value());
  }
  // Of all runs of the job, those that are over included.
  [[nodiscard]] std::size_t attempts_in_all() const;
  // Makes the attempt's folder and returns its path. Another node may have made it already.
  [[nodiscard]] base::Result<std::string> make_attempt(AttemptId id) const;

 private:
  enum class Lock { taken, busy, failed };
  [[nodiscard]] std::string path() const { return base::job_dir(root_, job_); }
  Lock try_lock();
  Lock lock(const std::string& path, base::UniqueFd& into) const;
  base::Status place(const std::optional<SlurmInfo>& slurm, const std::string& run_id);

  std::string root_;
  std::string job_;
  std::optional<NodeSeat> node_;
  base::UniqueFd lock_;       // the job's: of the only agent, or of the coordinator's
  base::UniqueFd node_lock_;  // of one of several nodes
  std::uint64_t highest_ = 0;
  AttemptId first_;
  std::string previous_run_;
};

}  // namespace headway::agent
