#include "agent/slurm.h"

#include <algorithm>
#include <charconv>

#include "headway/headway.h"

namespace headway::agent {
namespace {

// The value of " Key=" up to the next blank; values with blanks (Command=) are not asked for.
std::optional<std::string_view> field(std::string_view text, std::string_view key) {
  std::size_t at = 0;
  while ((at = text.find(key, at)) != std::string_view::npos) {
    const std::size_t equals = at + key.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (begins && equals < text.size() && text[equals] == '=') {
      const std::string_view rest = text.substr(equals + 1);
      return rest.substr(0, rest.find_first_of(" \n"));
    }
    at = equals;
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> number(std::optional<std::string_view> text) {
  T value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::string text_of(std::optional<std::string_view> value) {
  return std::string(value.value_or(""));
}

// Slurm shows what it is just doing to a job in place of its state. While it signals one, too, the
// job runs, and nothing says that anybody but the one who asks has got the signal.
std::string_view lasting_state(std::string_view shown) {
  constexpr std::string_view passing[] = {"SIGNALING", "RESIZING", "CONFIGURING", "STOPPED"};
  const bool passes = std::find(std::begin(passing), std::end(passing), shown) != std::end(passing);
  return passes ? "RUNNING" : shown;
}

// The newest "*** JOB 7 ON n1 CANCELLED AT … DUE TO PREEMPTION ***" of slurmstepd.
std::optional<StopCause> stepd_cause(std::string_view words) {
  const std::size_t at = words.rfind(" CANCELLED AT ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = words.substr(at, words.find('\n', at) - at);
  if (line.find("***") == std::string_view::npos) return std::nullopt;
  const auto says = [line](std::string_view what) {
    return line.find(what) != std::string_view::npos;
  };
  if (says("DUE TO PREEMPTION")) return StopCause::preemption;
  if (says("DUE TO TIME LIMIT")) return StopCause::time_limit;
  if (says("DUE TO NODE FAILURE")) return StopCause::node_failure;
  if (says("DUE TO JOB REQUEUE")) return StopCause::requeue;
  return std::nullopt;  // a plain one is scancel's, or the first warning of a preemption
}

}  // namespace

std::optional<SlurmJob> parse_slurm_job(std::string_view text) {
  const auto state = field(text, "JobState");
  if (!state) return std::nullopt;
  SlurmJob job;
  job.state = lasting_state(*state);
  job.reason = text_of(field(text, "Reason"));
  job.batch = field(text, "BatchFlag") == "1";
  job.requeue_allowed = field(text, "Requeue") == "1";
  job.restarts = number<std::uint64_t>(field(text, "Restarts")).value_or(0);
  job.submit_s = number<std::int64_t>(field(text, "SubmitTime"));
  job.eligible_s = number<std::int64_t>(field(text, "EligibleTime"));
  job.start_s = number<std::int64_t>(field(text, "StartTime"));
  job.end_s = number<std::int64_t>(field(text, "EndTime"));
  job.preempt_s = number<std::int64_t>(field(text, "PreemptTime"));
  job.partition = text_of(field(text, "Partition"));
  job.error_path = text_of(field(text, "StdErr"));
  return job;
}

SlurmTimes allocation_times(const SlurmJob& job, std::uint64_t restart_count) {
  SlurmTimes times;
  // Of another life of the job: it was taken away from us while we asked.
  if (job.restarts != restart_count) return times;
  times.allocated_s = job.start_s;
  times.submitted_s = job.submit_s;
  if (restart_count == 0 && job.submit_s && job.eligible_s) {
    times.submitted_s = std::max(*job.submit_s, *job.eligible_s);
  }
  if (times.submitted_s && job.start_s) {
    times.submitted_s = std::min(*times.submitted_s, *job.start_s);
  }
  return times;
}

std::string_view describe(StopCause cause) {
  switch (cause) {
    case StopCause::preemption:
      return "preempted";
    case StopCause::requeue:
      return "requeued on request";
    case StopCause::cancelled:
      return "cancelled";
    case StopCause::time_limit:
      return "out of time";
    case StopCause::node_failure:
      return "a node failed";
    case StopCause::unknown:
      break;
  }
  return "stopped, the controller did not say why";
}

int origin_of(StopCause cause) {
  switch (cause) {
    case StopCause::preemption:
      return HW_ORIGIN_PREEMPTION;
    case StopCause::cancelled:
    case StopCause::time_limit:  // the limit was asked for
      return HW_ORIGIN_USER;
    case StopCause::node_failure:
      return HW_ORIGIN_INFRA;
    case StopCause::requeue:
    case StopCause::unknown:
      break;
  }
  return HW_ORIGIN_UNKNOWN;
}

bool ends_job(StopCause cause, RequeueWhen when) {
  if (cause == StopCause::time_limit) return when != RequeueWhen::time_limit;
  return cause == StopCause::cancelled;
}

StopCause cause_of_stop(const SlurmJob& job, std::uint64_t restart_count, std::int64_t now_s,
                        std::string_view words) {
  if (job.preempt_s || job.state == "PREEMPTED") return StopCause::preemption;
  if (job.state == "CANCELLED") return StopCause::cancelled;
  if (job.state == "TIMEOUT" || job.state == "DEADLINE") return StopCause::time_limit;
  if (job.state == "NODE_FAIL" || job.state == "BOOT_FAIL") return StopCause::node_failure;
  if (job.state == "RUNNING") {
    const bool warned = job.end_s && *job.end_s - now_s <= warning_s_max;
    return warned ? StopCause::time_limit : StopCause::unknown;
  }
  // A requeue wipes PreemptTime away and COMPLETING hides the rest: only slurmstepd has said it.
  if (const auto said = stepd_cause(words)) return *said;
  if (job.restarts > restart_count || job.state != "COMPLETING") return StopCause::unknown;
  return job.reason == "TimeLimit" ? StopCause::time_limit : StopCause::cancelled;
}

bool tracks_all_processes(std::string_view cgroup_text, std::string_view config_text) {
  const auto has = [](std::string_view text, std::string_view what) {
    return text.find(what) != std::string_view::npos;
  };
  return (has(cgroup_text, "slurm") && has(cgroup_text, "/step_")) ||
         has(config_text, "proctrack/cgroup") || has(config_text, "proctrack/linuxproc");
}

bool should_requeue(const SlurmJob& job, std::uint64_t restart_count, StopCause cause,
                    RequeueWhen when) {
  const bool wanted = (cause == StopCause::preemption && when != RequeueWhen::never) ||
                      (cause == StopCause::time_limit && when == RequeueWhen::time_limit);
  return wanted && job.batch && job.requeue_allowed && job.restarts == restart_count &&
         job.state == "RUNNING";
}

bool partition_cancels(std::string_view partition_text) {
  return field(partition_text, "PreemptMode") == "CANCEL";
}

}  // namespace headway::agent
