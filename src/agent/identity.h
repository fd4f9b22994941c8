// Which job and which attempt this is. Pure: the clock, the environment and the folder's content
// come in as arguments.
//
// An attempt's id is allocation * 65536 + launch. Outside a scheduler every `headway run` of a job
// is a new allocation; under Slurm a requeue is. Ids of a job only ever grow.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>

#include "agent/environment.h"
#include "agent/options.h"
#include "base/job_path.h"

namespace headway::agent {

using base::kLaunchesPerAllocation;

// What Slurm says of the job we are in.
struct SlurmInfo {
  std::string job_id;
  std::uint64_t restart_count = 0;
  std::int64_t start_time_s = 0;   // real time; 0: not stated
  std::int64_t submit_time_s = 0;  // from when on it waited for this start; 0: not stated
  int node_index = 0;              // of the job's nodes
  bool in_step = false;            // started by srun, not by the batch script
  int step_nodes = 1;              // of the step we are in, one task on each; else 1
  std::string job_name{};
  std::string nodes{};
  std::string node_name{};   // of the machine we are on, as Slurm calls it
  std::string step_hosts{};  // its node list
};
std::optional<SlurmInfo> slurm_info(const Environment& environment);

// What a person would call the command: "train" for d/train.py, for python3 -u d/train.py and for
// -m pkg.train. Safe as a folder's name.
std::string command_name(const RunOptions& options);

// "train-20261115-214300"; under Slurm "train-4711", so that a requeue is the same job.
std::string default_job_name(const RunOptions& options, const std::optional<SlurmInfo>& slurm,
                             const std::tm& local_time);

// Kept in the job's folder: to which Slurm job the allocations from `base` on belong. Without it a
// second Slurm job of the same name would begin again at allocation 0.
struct AllocationNote {
  std::string slurm_job_id;  // empty: no scheduler
  std::uint64_t base = 0;
};
std::string format_note(const AllocationNote& note);
std::optional<AllocationNote> parse_note(const std::string& text);

struct AttemptId {
  std::uint64_t allocation = 0;
  std::uint64_t launch = 1;
  [[nodiscard]] std::uint64_t value() const { return allocation * kLaunchesPerAllocation + launch; }
};

[[nodiscard]] inline AttemptId attempt_of(std::uint64_t id) {
  return {id / kLaunchesPerAllocation, id % kLaunchesPerAllocation};
}

// The first attempt of this invocation, given the ids that the job's folder already holds.
struct Placement {
  AttemptId first;
  AllocationNote note;
};
Placement place_invocation(std::span<const std::uint64_t> seen,
                           const std::optional<AllocationNote>& note,
                           const std::optional<SlurmInfo>& slurm);

}  // namespace headway::agent
