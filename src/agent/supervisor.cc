#include "agent/supervisor.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "base/job_path.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kEventsMax = 64;

RankEnd end_of(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? RankEnd{info.si_status, 0} : RankEnd{0, info.si_status};
}

}  // namespace

Supervisor::Supervisor(const AttemptPlan& plan, Signals& signals, Console& console,
                       AgentJournal& journal, Guard& guard, const Sweep& sweep)
    : plan_(plan),
      signals_(signals),
      console_(console),
      journal_(journal),
      guard_(guard),
      sweep_(sweep),
      policy_(plan.nproc, plan.grace_ns),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      ranks_(static_cast<std::size_t>(plan.nproc)),
      buffer_(kReadBytes) {
  HW_CHECK(plan.own_process_groups || plan.nproc == 1);
}

bool Supervisor::watch(int fd, std::uint32_t events, Watch kind, int rank) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint32_t>(rank);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Supervisor::unwatch(int fd) {
  HW_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0);
}

base::Status Supervisor::start_rank(int index) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  base::Result<Child> child = spawn(plan_.process(index), signals_);
  if (!child.ok()) return child.status();
  rank.child = std::move(*child);
  rank.running = true;
  journal_.mark(HW_MARK_TRAINER_START);
  if (plan_.own_process_groups) guard_.watch(index, rank.child.pid);
  if (rank.child.pidfd.valid()) {
    HW_CHECK(watch(rank.child.pidfd.get(), EPOLLIN, Watch::rank_end, index));
  }
  if (!rank.child.out.valid()) return {};
  if (!plan_.dir.empty()) {
    rank.log = RankLog(base::rank_log_path(plan_.dir, static_cast<std::uint32_t>(index)));
  }
  for (const bool is_stderr : {false, true}) {
    base::UniqueFd& pipe = is_stderr ? rank.child.err : rank.child.out;
    const Watch kind = is_stderr ? Watch::rank_err : Watch::rank_out;
    HW_CHECK(watch(pipe.get(), EPOLLIN, kind, index));
    rank.streams.push_back(
        Stream{std::move(pipe), LineCutter(console_.prefix(index, is_stderr)), is_stderr, false});
  }
  return {};
}

base::Result<Outcome> Supervisor::run() {
  if (!epoll_.valid() || !watch(signals_.fd(), EPOLLIN, Watch::signals, 0)) {
    return base::Status::io(fmt::format("cannot watch the ranks: {}", std::strerror(errno)));
  }
  for (int index = 0; index < plan_.nproc; ++index) {
    const base::Status started = start_rank(index);
    if (started.ok()) continue;
    send_to_live(SIGKILL);
    sweep_.kill_descendants();
    for (int rank = 0; rank < plan_.nproc; ++rank) guard_.forget(rank);
    return started;
  }
  while (!policy_.done()) serve_once();
  if (plan_.scheduler != nullptr) await_last_word();
  sweep_.kill_descendants();
  drain_output();
  return policy_.outcome();
}

int Supervisor::wait_ms() const {
  const auto deadline_ns = policy_.deadline_ns();
  if (!deadline_ns) return -1;
  const std::int64_t left_ns = std::max<std::int64_t>(*deadline_ns - base::monotonic_ns(), 0);
  return static_cast<int>((left_ns + 999'999) / 1'000'000);
}

void Supervisor::serve_once() {
  epoll_event events[kEventsMax];
  const int count = ::epoll_wait(epoll_.get(), events, kEventsMax, wait_ms());
  HW_CHECK(count >= 0 || errno == EINTR);
  // In the order in which they happened: the first rank to die is the one to name.
  for (int i = 0; i < count; ++i) {
    const Watch kind = static_cast<Watch>(events[i].data.u64 >> 32);
    const int index = static_cast<int>(events[i].data.u64 & 0xffffffff);
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    switch (kind) {
      case Watch::signals:
        on_signals();
        break;
      case Watch::rank_end:
        on_rank_ready(index);
        break;
      case Watch::rank_out:
      case Watch::rank_err:
        for (Stream& stream : rank.streams) {
          if (stream.fd.valid() && stream.is_stderr == (kind == Watch::rank_err)) {
            read_stream(rank, stream, false);
          }
        }
        break;
      case Watch::sink:
        break;
    }
  }
  send_to_live(policy_.on_deadline(base::monotonic_ns()));
  update_flow();
}

void Supervisor::on_rank_ready(int index) {
  const Rank& rank = ranks_[static_cast<std::size_t>(index)];
  if (!rank.running) return;
  siginfo_t info{};
  const int waited = ::waitid(P_PID, static_cast<id_t>(rank.child.pid), &info, WEXITED | WNOHANG);
  if (waited != 0 || info.si_pid == 0) return;
  end_rank(index, end_of(info));
}

void Supervisor::end_rank(int index, const RankEnd& end) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  HW_CHECK(rank.running);
  rank.running = false;
  if (plan_.scheduler != nullptr) await_word(end);
  const int signal = policy_.on_rank_end(index, end, base::monotonic_ns());
  const Outcome& outcome = policy_.outcome();
  const int origin = end.clean() ? HW_ORIGIN_NONE : origin_of_failure();
  const std::uint32_t who = plan_.has_ranks ? static_cast<std::uint32_t>(index) : HW_RANK_UNKNOWN;
  plan_.before_mark();
  if (outcome.failed() && !failure_recorded_) {
    failure_recorded_ = true;
    journal_.failure(who, end, origin);
  }
  journal_.exit(who, end, origin);
  if (rank.child.pidfd.valid()) {
    unwatch(rank.child.pidfd.get());
    rank.child.pidfd.reset();
  }
  // What a dead rank's helpers hold of its group goes too; a clean one's may still be at work.
  if (plan_.own_process_groups && !end.clean()) ::kill(-rank.child.pid, SIGKILL);
  guard_.forget(index);
  send_to_live(signal);
}

void Supervisor::on_signals() {
  while (const auto signal = signals_.next()) {
    if (signal->number == SIGCHLD) {
      reap_adopted();
      continue;
    }
    if (signal->number == SIGTSTP) {
      pass_stop_to_terminal();
      continue;
    }
    if (plan_.scheduler != nullptr && plan_.scheduler->may_announce(signal->number)) {
      on_scheduler_signal(signal->number);
      continue;
    }
    if (signal->number == SIGTERM) {
      plan_.before_mark();
      journal_.mark(HW_MARK_PREEMPT_NOTICE);
    }
    const bool delivered = signal->from_terminal && !plan_.own_process_groups;
    send_to_live(policy_.on_signal(signal->number, delivered, base::monotonic_ns()));
  }
}

void Supervisor::send_to_live(int signal) {
  if (signal == 0) return;
  for (const Rank& rank : ranks_) {
    if (!rank.running) continue;
    // Unreaped, so the number is still this process's. A stop is for the rank alone to handle; what
    // helpers are left when it ends is swept.
    const bool whole_group = plan_.own_process_groups && signal == SIGKILL;
    ::kill(whole_group ? -rank.child.pid : rank.child.pid, signal);
  }
}

// Ctrl-Z: the ranks' groups are not the terminal's, so they are stopped and continued from here.
void Supervisor::pass_stop_to_terminal() {
  for (const int signal : {SIGSTOP, SIGCONT}) {
    for (const Rank& rank : ranks_) {
      if (rank.running) ::kill(-rank.child.pid, signal);
    }
    if (signal == SIGSTOP) ::raise(SIGSTOP);
  }
}

void Supervisor::reap_adopted() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const auto it = std::find_if(ranks_.begin(), ranks_.end(), [&info](const Rank& rank) {
      return rank.running && rank.child.pid == info.si_pid;
    });
    if (it == ranks_.end()) {
      ::waitpid(info.si_pid, nullptr, 0);
      guard_.on_reaped(info.si_pid);
      continue;
    }
    if (it->child.pidfd.valid()) return;  // its own event is under way, in its right place
    on_rank_ready(static_cast<int>(it - ranks_.begin()));
  }
}

}  // namespace headway::agent
