#include "agent/slurm_scheduler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/clock.h"
#include "base/file.h"

namespace headway::agent {
namespace {

constexpr std::int64_t kRequeueWaitNs = 5'000'000'000;
// For a controller that is busy: without its answer a job that could come back is over.
constexpr std::int64_t kPatienceNs = 20'000'000'000;
constexpr int kAskAgainMs = 500;
// Where the grace time's end is not known; longer ones are hardly configured.
constexpr std::int64_t kStayNsMax = 900'000'000'000;
constexpr std::size_t kWordsBytesMax = 64 * 1024;

std::int64_t file_bytes(const std::string& path) {
  struct stat info{};
  if (path.empty() || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return -1;
  return info.st_size;
}

}  // namespace

SlurmScheduler::SlurmScheduler(const SlurmInfo& info, const Environment& environment,
                               const Signals& signals, RequeueWhen when)
    : info_(info),
      environment_(environment),
      signals_(signals),
      asks_(info.node_index == 0),
      when_(when) {
  environment_["SLURM_TIME_FORMAT"] = "%s";
}

void SlurmScheduler::ask_times() {
  if (!asks_) return;
  ask_job(launch_ask_);
  config_ask_.start({"scontrol", "show", "config"}, environment_, signals_, answer_bound_ns);
}

std::optional<SlurmTimes> SlurmScheduler::times(std::int64_t wait_ns) {
  if (!at_launch_ && launch_ask_.wait(wait_ns) == Ask::State::answered) {
    at_launch_ = parse_slurm_job(launch_ask_.out());
    if (at_launch_) output_bytes_at_launch_ = file_bytes(at_launch_->error_path);
  }
  if (!at_launch_) return std::nullopt;
  return allocation_times(*at_launch_, info_.restart_count);
}

bool SlurmScheduler::may_announce(int signal) const {
  return signal == SIGTERM || signal == SIGUSR1;
}

void SlurmScheduler::on_signal(std::int64_t now_monotonic_ns) {
  const bool known = at_stop_ && cause() != StopCause::unknown;
  again_ = known;
  if (known || stop_ask_.state() == Ask::State::pending) return;
  times(0);  // an answer that came late is still good for where the output lies
  notice_ns_ = now_monotonic_ns;
  notice_real_s_ = base::real_ns() / base::kNsPerSecond;
  ask_why();
}

void SlurmScheduler::ask_why() {
  at_stop_.reset();
  if (asks_) ask_job(stop_ask_);
}

void SlurmScheduler::ask_job(Ask& ask) const {
  ask.start({"scontrol", "show", "job", "-o", info_.job_id}, environment_, signals_,
            answer_bound_ns);
}

std::string SlurmScheduler::words() const {
  if (!at_launch_ || output_bytes_at_launch_ < 0) return {};
  const std::int64_t bytes = file_bytes(at_launch_->error_path);
  if (bytes < 0) return {};
  const auto most = static_cast<std::int64_t>(kWordsBytesMax);
  const std::int64_t from = std::max(std::min(output_bytes_at_launch_, bytes), bytes - most);
  const base::UniqueFd file(::open(at_launch_->error_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {};
  std::string text(static_cast<std::size_t>(bytes - from), '\0');
  const long got =
      base::pread_full(file.get(), text.data(), text.size(), static_cast<std::size_t>(from));
  text.resize(static_cast<std::size_t>(std::max(got, 0L)));
  return text;
}

StopCause SlurmScheduler::cause(std::int64_t wait_ns) {
  if (!at_stop_ && stop_ask_.wait(wait_ns) == Ask::State::answered) {
    at_stop_ = parse_slurm_job(stop_ask_.out());
  }
  if (!at_stop_) return StopCause::unknown;
  return cause_of_stop(*at_stop_, info_.restart_count, notice_real_s_, words());
}

// The signal that made us ask goes to all processes of a step, and may have killed scontrol too.
StopCause SlurmScheduler::cause_at_end() {
  const StopCause first = cause(end_wait_ns);
  if (first != StopCause::unknown || !notice_ns_ || !asks_ || asked_at_end_) return first;
  asked_at_end_ = true;
  ask_why();
  return cause(end_wait_ns);
}

bool SlurmScheduler::ranks_have_it() {
  cause(notice_wait_ns);
  config_ask_.wait(0);
  // To a step always; to a batch script at the job's end, but --signal=B: meant it alone.
  const bool all_were_meant = info_.in_step || again_ || (at_stop_ && at_stop_->state != "RUNNING");
  const auto cgroup = base::read_file("/proc/self/cgroup", kWordsBytesMax);
  return all_were_meant &&
         tracks_all_processes(cgroup.ok() ? cgroup.value() : std::string(), config_ask_.out());
}

std::optional<std::int64_t> SlurmScheduler::take_notice_ns() {
  if (notice_taken_ || !notice_ns_ || cause(notice_wait_ns) != StopCause::preemption) {
    return std::nullopt;
  }
  notice_taken_ = true;
  return notice_ns_;
}

// A warning may be long ago: meanwhile the limit itself may have ended the ranks, before its signal
// got to us. So what was said since they ended counts, and an older answer only where there is
// none.
StopCause SlurmScheduler::cause_by_now() {
  StopCause why = cause_at_end();
  const std::optional<SlurmJob> before = asked_at_end_ ? std::nullopt : at_stop_;
  if (before) {
    ask_why();
    why = cause(end_wait_ns);
  }
  const std::int64_t until_ns = base::monotonic_ns() + kPatienceNs;
  while (!at_stop_ && !before && base::monotonic_ns() < until_ns) {
    if (stop_ask_.state() != Ask::State::pending) {
      ::poll(nullptr, 0, kAskAgainMs);
      ask_why();
    }
    why = cause(end_wait_ns);
  }
  if (at_stop_ || !before) return why;
  at_stop_ = before;
  return cause();
}

void SlurmScheduler::come_back(Console& console, Signals& own_signals) {
  if (!notice_ns_ || !asks_ || when_ == RequeueWhen::never) return;
  const StopCause why = cause_by_now();
  if (again_) return;  // Slurm has ended the job itself
  if (!at_stop_) {
    console.warn(
        fmt::format("Slurm job {}: scontrol show job: no answer, so it is not requeued; "
                    "`scontrol requeue {}` brings it back",
                    info_.job_id, info_.job_id));
    return;
  }
  if (!should_requeue(*at_stop_, info_.restart_count, why, when_)) return;
  Ask ask;
  ask.start({"scontrol", "show", "partition", "-o", at_stop_->partition}, environment_, signals_,
            kRequeueWaitNs);
  const bool cancels =
      ask.wait(kRequeueWaitNs) == Ask::State::answered && partition_cancels(ask.out());
  if (why == StopCause::preemption && cancels) {
    console.note(fmt::format("Slurm job {}: preempted; partition {} cancels instead of requeueing",
                             info_.job_id, at_stop_->partition));
    return;
  }
  ask.start({"scontrol", "requeue", info_.job_id}, environment_, signals_, kRequeueWaitNs);
  if (ask.wait(kRequeueWaitNs) == Ask::State::answered && ask.error().empty()) {
    console.note(fmt::format("Slurm job {}: {}; back in the queue", info_.job_id, describe(why)));
    return;
  }
  std::string why_not = ask.error().substr(0, ask.error().find('\n'));
  if (why_not.empty()) why_not = "no answer";
  console.warn(fmt::format("Slurm job {}: scontrol requeue: {}; staying until the grace time ends",
                           info_.job_id, why_not));
  stay_until_told(own_signals);
}

// Ended inside the grace time the job would not be requeued: idle, but alive, until Slurm's
// SIGTERM.
void SlurmScheduler::stay_until_told(Signals& own_signals) const {
  const std::int64_t until_ns = base::monotonic_ns() + kStayNsMax;
  while (base::monotonic_ns() < until_ns) {
    pollfd fd{own_signals.fd(), POLLIN, 0};
    ::poll(&fd, 1, 1000);
    while (const auto signal = own_signals.next()) {
      if (is_stop_signal(signal->number)) return;
    }
  }
}

}  // namespace headway::agent
