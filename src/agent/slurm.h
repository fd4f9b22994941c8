// What Slurm's controller says of the job that we run in, and what follows from it. Pure: the text
// of `scontrol show job -o` (asked with SLURM_TIME_FORMAT=%s), the clock and the words that
// slurmstepd leaves in the job's output come in as arguments.
//
// docs/slurm.md has what Slurm does in each case; tests/slurm shows it on a real controller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/options.h"

namespace headway::agent {

// One answer. Times are seconds of real time; nullopt: Unknown, None or not stated.
struct SlurmJob {
  std::string state;   // RUNNING, COMPLETING (which hides why), CANCELLED, …
  std::string reason;  // TimeLimit, NonZeroExitCode, None, …
  bool batch = false;
  bool requeue_allowed = false;
  std::uint64_t restarts = 0;
  std::optional<std::int64_t> submit_s;
  std::optional<std::int64_t> eligible_s;
  std::optional<std::int64_t> start_s;
  std::optional<std::int64_t> end_s;
  std::optional<std::int64_t> preempt_s;  // lost with a requeue
  std::string partition;
  std::string error_path;  // of the batch script's stderr
};
std::optional<SlurmJob> parse_slurm_job(std::string_view text);

// When this allocation was asked for, and given. The wait for a dependency or --begin is not the
// queue; the pause that Slurm makes after a requeue (EligibleTime too) is nobody's wish, so it is.
struct SlurmTimes {
  std::optional<std::int64_t> submitted_s;
  std::optional<std::int64_t> allocated_s;
};
SlurmTimes allocation_times(const SlurmJob& job, std::uint64_t restart_count);

enum class StopCause {
  unknown,
  preemption,
  requeue,  // somebody's scontrol requeue
  cancelled,
  time_limit,
  node_failure
};
std::string_view describe(StopCause cause);
// hw_origin of the end that follows. As the import of sacct's states does it:
// docs/formats/import.md.
int origin_of(StopCause cause);
// No other allocation of the same Slurm job will go on from here.
bool ends_job(StopCause cause, RequeueWhen when);

// Why a job that was sent SIGTERM (or a user signal) is to stop. `restart_count`: ours. `words`:
// what slurmstepd wrote into the job's stderr since we began; may be empty. A signal this long
// before the job's end is taken for the warning that --signal asks for.
inline constexpr std::int64_t warning_s_max = 600;
StopCause cause_of_stop(const SlurmJob& job, std::uint64_t restart_count, std::int64_t now_s,
                        std::string_view words);

// Does Slurm reach every process of a step or job with a signal, ranks in groups of their own too?
// `cgroup_text`: /proc/self/cgroup, which shows proctrack/cgroup; `config_text`: the answer to
// `scontrol show config`, may be empty. proctrack/pgid reaches our own process group only.
bool tracks_all_processes(std::string_view cgroup_text, std::string_view config_text);

// A job that ends inside its grace time, with whatever code, is COMPLETED or FAILED and does not
// come back: it has to be put back into the queue before it ends. Where the partition (the answer
// to `scontrol show partition -o`) cancels what it preempts, a return is not wanted.
bool should_requeue(const SlurmJob& job, std::uint64_t restart_count, StopCause cause,
                    RequeueWhen when);
bool partition_cancels(std::string_view partition_text);

}  // namespace headway::agent
