// What `headway run` answers, for those that act on it: Slurm, podFailurePolicy, a shell. Pure.
// docs/kubernetes.md has the table.
#pragma once

#include <string_view>

#include "agent/policy.h"
#include "agent/slurm.h"

namespace headway::agent {

// All ranks ended well because they were told to: not the end of the training. A code of 0 would
// make Slurm and Kubernetes call the job completed and never start it again, and a shell go on to
// whatever was to be done with the result. By another signal it is 128 + its number.
inline constexpr int kExitPreempted = 143;  // as a process that SIGTERM ended

// `verdict` after a stop that somebody asked for: never 0. After a scheduler's the job ends only if
// it will not be continued. `cause`: Slurm's word for it, where there is one.
Verdict after_stop(Verdict verdict, const Outcome& outcome, bool under_scheduler, StopCause cause,
                   RequeueWhen when);

// As far as a code tells: one who was told to stop, and stopped.
bool is_clean_stop(int exit_code);

enum class ExitClass {
  done,        // 0
  user_error,  // the script's own code, usage, a command that is not there: again would be the same
  agent_fault,  // ours: try another machine
  preempted,    // told to stop, and stopped: start it again, count nothing
  hung,         // and was ended: try again
  crashed       // a signal: SIGKILL (memory, a person), SIGSEGV, SIGBUS, SIGABRT: try again
};
ExitClass classify_exit(int exit_code);
std::string_view describe(ExitClass exit_class);

}  // namespace headway::agent
