#include "agent/exit_code.h"

#include <csignal>

#include "agent/options.h"

namespace headway::agent {

Verdict after_stop(Verdict verdict, const Outcome& outcome, bool under_scheduler, StopCause cause,
                   RequeueWhen when) {
  if (outcome.stop_signal == 0) return verdict;
  if (verdict.exit_code == 0) verdict.exit_code = 128 + outcome.stop_signal;
  if (under_scheduler && outcome.stop_signal == SIGTERM) verdict.job_ends = ends_job(cause, when);
  return verdict;
}

bool is_clean_stop(int exit_code) {
  return exit_code > 128 && is_stop_signal(exit_code - 128);
}

ExitClass classify_exit(int exit_code) {
  if (exit_code == 0) return ExitClass::done;
  if (exit_code == kExitAgentFault) return ExitClass::agent_fault;
  if (exit_code == kExitPreempted) return ExitClass::preempted;
  if (exit_code == kExitHang) return ExitClass::hung;
  return exit_code > 128 ? ExitClass::crashed : ExitClass::user_error;
}

std::string_view describe(ExitClass exit_class) {
  switch (exit_class) {
    case ExitClass::done:
      return "done";
    case ExitClass::user_error:
      return "user error";
    case ExitClass::agent_fault:
      return "launcher fault";
    case ExitClass::preempted:
      return "preempted";
    case ExitClass::hung:
      return "hung";
    case ExitClass::crashed:
      break;
  }
  return "crashed";
}

}  // namespace headway::agent
