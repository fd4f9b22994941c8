// What the attempts of one `headway run` have in common on this machine (signals, the job's folder,
// the fork server, the console), and how one of them is run. Whoever owns it decides when there is
// another one: run.cc for a single machine, node_run.cc for one of several. Main thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/aftermath.h"
#include "agent/attempt_context.h"
#include "agent/auto_dynamic.h"
#include "agent/cache_keeper.h"
#include "agent/console.h"
#include "agent/family_history.h"
#include "agent/guard.h"
#include "agent/job_folder.h"
#include "agent/journal.h"
#include "agent/kubernetes.h"
#include "agent/leftovers.h"
#include "agent/rank_progress.h"
#include "agent/replica_keeper.h"
#include "agent/ship_keeper.h"
#include "agent/signals.h"
#include "agent/slurm_scheduler.h"
#include "agent/supervisor.h"
#include "agent/sweep.h"
#include "agent/warm_start.h"

namespace headway::agent {

// An attempt that the nodes of a job have agreed on.
struct NodeAttempt {
  std::uint64_t id = 0;
  GroupPlace place;
  Companion* companion = nullptr;
  std::string setting{};  // the same on all of them: AutoDynamic's
};

class AttemptRunner {
 public:
  // `node`: this machine's part in a job of several; nullopt: it is the only one.
  AttemptRunner(const RunOptions& options, Environment environment, std::vector<std::string> argv,
                std::int64_t began_monotonic_ns, std::optional<NodeSeat> node);

  // Before the first attempt. Code::invalid_input: the job must not start; else a fault of ours.
  base::Status start();
  // Starts what makes ranks start quickly; otherwise the first attempt does.
  void warm_up();
  // `restarts`: before this one, in this invocation. A failure is one of starting the ranks, and is
  // in the journal. The journal stays open until the next attempt, or end().
  base::Result<AttemptResult> run(int restarts, const NodeAttempt* agreed = nullptr);
  // Of the last attempt; `job_ends`: nobody goes on from here.
  void close_journal(bool job_ends);
  // Nothing will be started any more.
  void end(bool failed, int orderly_restarts = 0);

  [[nodiscard]] bool scheduled() const { return slurm_.has_value() || pod_.has_value(); }
  [[nodiscard]] StopCause stop_cause() {
    return scheduler_ ? scheduler_->cause_at_end() : StopCause::unknown;
  }
  void come_back();
  // What to call a rank's process for a person.
  [[nodiscard]] std::string name_of(int rank) const;
  [[nodiscard]] int start_failure_code(const base::Status& status) const;

  [[nodiscard]] const std::optional<JobFolder>& folder() const { return folder_; }
  [[nodiscard]] const std::optional<SlurmInfo>& slurm() const { return slurm_; }
  [[nodiscard]] Console& console() { return console_; }
  [[nodiscard]] Signals& signals() { return signals_; }
  [[nodiscard]] AgentJournal& journal() { return journal_; }
  [[nodiscard]] RankProgress& progress() { return progress_; }
  [[nodiscard]] Aftermath& aftermath() { return aftermath_; }
  [[nodiscard]] AutoDynamic& auto_dynamic() { return auto_dynamic_; }

 private:
  base::Status open_folder();
  void open_replica();
  void open_cache();
  void record_pulled();
  void anchor_clock();
  AttemptContext open_attempt(int restarts, const NodeAttempt* agreed);
  void follow_launcher();
  void take_slurm_times(std::int64_t wait_ns);
  [[nodiscard]] SpawnPlan plan_process(const AttemptContext& attempt, int index);
  [[nodiscard]] std::string node_name() const { return node_ ? node_->name : std::string(); }
  // A lone program on several nodes is one rank a node.
  [[nodiscard]] bool has_ranks() const { return options_.has_ranks() || node_.has_value(); }
  [[nodiscard]] bool many() const { return options_.nproc > 1 || node_.has_value(); }

  const RunOptions& options_;
  const Environment environment_;
  const std::vector<std::string> argv_;
  const std::int64_t began_ns_;
  const std::optional<NodeSeat> node_;
  std::optional<SlurmInfo> slurm_;
  const std::optional<PodInfo> pod_;
  Console console_;
  AutoDynamic auto_dynamic_;
  const bool own_groups_;
  const std::string run_id_ = make_run_id();
  Guard guard_;
  Sweep sweep_;
  Signals signals_;
  std::optional<SlurmScheduler> scheduler_;
  bool slurm_times_known_ = false;
  WarmStart warm_;
  Aftermath aftermath_;
  RankProgress progress_;
  ReplicaKeeper replica_;
  FamilyHistory family_;
  CacheKeeper cache_;
  ShipKeeper ship_;
  bool hurried_ = false;         // somebody asked us to stop
  bool memory_suspect_ = false;  // a rank died in a way that may have written anywhere
  // What attempts from this one on have staged a successor takes over unread.
  std::uint64_t memory_trusted_from_ = 0;
  AgentJournal journal_;
  std::optional<JobFolder> folder_;  // none: unmeasured
  AttemptId attempt_;                // whose journal is open
  int attempts_ = 0;
  std::vector<std::string> hook_;
  std::string anchor_;
  std::uint64_t tsc_hz_ = 0;
  bool warned_ = false;
};

}  // namespace headway::agent
