#include "metrics/job_state.h"

namespace headway::metrics {
namespace {

// Its ranks died of the signal that somebody sent to end the job.
bool was_asked_to_stop(const timeline::AttemptResult& last) {
  return last.facts.preempt_notice_ns && last.facts.job_end_ns && last.failure &&
         last.failure->info.origin == HW_ORIGIN_USER;
}

}  // namespace

JobState job_state(const timeline::JobResult& job, bool alive) {
  if (job.attempts.empty()) return alive ? JobState::running : JobState::unended;
  const timeline::AttemptResult& last = job.attempts.back();
  switch (last.outcome) {
    case timeline::Outcome::running:
      return alive ? JobState::running : JobState::unended;
    case timeline::Outcome::clean:
      return last.facts.preempt_notice_ns ? JobState::stopped : JobState::clean;
    case timeline::Outcome::failed:
      if (was_asked_to_stop(last)) return JobState::stopped;
      return alive && !last.facts.job_end_ns ? JobState::restarting : JobState::failed;
  }
  return JobState::unended;
}

std::string_view job_state_name(JobState state) {
  switch (state) {
    case JobState::running:
      return "running";
    case JobState::restarting:
      return "restarting";
    case JobState::clean:
      return "finished";
    case JobState::stopped:
      return "stopped";
    case JobState::failed:
      return "failed";
    case JobState::unended:
      break;
  }
  return "unended";
}

}  // namespace headway::metrics
