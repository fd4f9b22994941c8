#include "agent/supervisor.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/stacks.h"
#include "base/check.h"
#include "base/clock.h"
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
                       AgentJournal& journal, Guard& guard, Sweep& sweep)
    : plan_(plan),
      signals_(signals),
      console_(console),
      journal_(journal),
      guard_(guard),
      sweep_(sweep),
      policy_(plan.nproc, plan.grace_ns),
      hang_watch_(plan.hang),
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

base::Result<AttemptResult> Supervisor::run() {
  if (!epoll_.valid() || !watch(signals_.fd(), EPOLLIN, Watch::signals, 0)) {
    return base::Status::io(fmt::format("cannot watch the ranks: {}", std::strerror(errno)));
  }
  if (plan_.companion != nullptr) {
    HW_CHECK(watch(plan_.companion->fd(), EPOLLIN, Watch::companion, 0));
    // Preparing took its time: do others still count on us?
    const Companion::Wish wish = plan_.companion->serve();
    guard_.fence_at(plan_.companion->lease_until_ns());
    if (wish != Companion::Wish::none) {
      guard_.fence_at({});
      end_unstarted();
      return result();
    }
  }
  watch_replica();
  start_status_ = start();
  while (start_status_.ok() && !policy_.done()) serve_once();
  guard_.fence_at({});
  if (!start_status_.ok()) {
    send_to_live(SIGKILL);
    sweep_.kill_descendants(false);
    return start_status_;
  }
  if (plan_.scheduler != nullptr && !policy_.outcome().failed()) {
    await_last_word();
    if (policy_.outcome().stop_signal == SIGTERM && !notice_recorded_) learn_why_stopped();
  }
  sweep_.kill_descendants(false);
  drain_output();
  return result();
}

AttemptResult Supervisor::result() {
  AttemptResult result;
  result.outcome = policy_.outcome();
  if (result.outcome.failed_rank) *result.outcome.failed_rank += plan_.first_rank;
  for (EndedRank& ended : result.outcome.ends) ended.rank += plan_.first_rank;
  result.remains.dir = plan_.dir;
  if (!plan_.dir.empty()) remove_empty_stacks(plan_.dir, plan_.first_rank, plan_.nproc);
  result.remains.ends = result.outcome.ends;
  result.remains.hang = std::move(hang_);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const int rank = plan_.first_rank + static_cast<int>(i);
    result.remains.ranks.push_back({rank, std::move(ranks_[i].tail), ranks_[i].child.pid});
  }
  return result;
}

int Supervisor::wait_ms() const {
  std::optional<std::int64_t> deadline_ns = policy_.deadline_ns();
  if (any_pending() && (!deadline_ns || server_deadline_ns_ < *deadline_ns)) {
    deadline_ns = server_deadline_ns_;
  }
  if (plan_.progress != nullptr && hang_watch_.on() && !policy_.tearing_down() && !any_pending()) {
    deadline_ns = std::min(deadline_ns.value_or(next_look_ns_), next_look_ns_);
  }
  for (const Chore* chore : plan_.chores) {
    const auto due_ns = chore->next_ns();
    if (!due_ns) continue;
    deadline_ns = std::min(deadline_ns.value_or(*due_ns), *due_ns);
  }
  if (last_step_until_ns_) {
    deadline_ns = std::min(deadline_ns.value_or(*last_step_until_ns_), *last_step_until_ns_);
  }
  if (!deadline_ns) return -1;
  const std::int64_t left_ns = std::max<std::int64_t>(*deadline_ns - base::monotonic_ns(), 0);
  return static_cast<int>((left_ns + 999'999) / 1'000'000);
}

void Supervisor::serve_once() {
  if (!started_told_ && !any_pending()) {
    started_told_ = true;
    plan_.started();
  }
  epoll_event events[kEventsMax];
  const int count = ::epoll_wait(epoll_.get(), events, kEventsMax, wait_ms());
  HW_CHECK(count >= 0 || errno == EINTR);
  // Before ranks' ends: the guard may have fenced them while we were held up.
  const bool told = std::any_of(events, events + std::max(count, 0), [](const epoll_event& event) {
    return static_cast<Watch>(event.data.u64 >> 32) == Watch::companion;
  });
  if (told) serve_companion();
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
      case Watch::server:
        serve_server();
        break;
      case Watch::replica:
        start_replica_holder();
        break;
      case Watch::companion:
      case Watch::sink:
        break;
    }
  }
  if (any_pending() && base::monotonic_ns() >= server_deadline_ns_) {
    start_status_ = start_pending_plainly("the fork server does not answer");
  }
  for (Chore* chore : plan_.chores) chore->serve(base::monotonic_ns());
  watch_for_hang();
  follow_last_step();
  send_to_live(policy_.on_deadline(base::monotonic_ns()));
  update_flow();
}

void Supervisor::serve_companion() {
  if (plan_.companion == nullptr) return;
  const Companion::Wish wish = plan_.companion->serve();
  guard_.fence_at(plan_.companion->lease_until_ns());
  int signal = 0;
  switch (wish) {
    case Companion::Wish::none:
      return;
    case Companion::Wish::stop:
      signal = policy_.on_peer_failure(base::monotonic_ns());
      break;
    case Companion::Wish::kill:
      signal = policy_.on_fenced();
      break;
  }
  send_to_live(signal);
  cancel_pending(signal);
}

// Not wanted any more before they began.
void Supervisor::end_unstarted() {
  policy_.on_fenced();
  for (int index = 0; index < plan_.nproc; ++index) {
    policy_.on_rank_end(index, RankEnd{0, SIGKILL}, base::monotonic_ns());
  }
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
  HW_CHECK(rank.running || rank.pending);  // a pending one has ended before it began
  rank.running = rank.pending = false;
  if (plan_.scheduler != nullptr) await_word(end);
  const int signal = policy_.on_rank_end(index, end, base::monotonic_ns());
  const Outcome& outcome = policy_.outcome();
  const int origin = end.clean() ? HW_ORIGIN_NONE : origin_of_failure();
  const std::uint32_t who =
      plan_.has_ranks ? static_cast<std::uint32_t>(plan_.first_rank + index) : HW_RANK_UNKNOWN;
  plan_.before_mark();
  if (outcome.failed() && !failure_recorded_) {
    failure_recorded_ = true;
    journal_.failure(who, end, origin);
    if (plan_.companion != nullptr && outcome.stop_signal == 0) {
      plan_.companion->on_rank_failed(index, end);
    }
  }
  journal_.exit(who, end, origin);
  if (rank.child.pidfd.valid()) {
    unwatch(rank.child.pidfd.get());
    rank.child.pidfd.reset();
  }
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
    // What a single rank hears from its terminal is its own affair, unless it asks us.
    const bool delivered = signal->from_terminal && !plan_.own_process_groups && !asks_to_stop(0);
    if (!delivered && is_stop_signal(signal->number)) {
      plan_.before_mark();  // by hand or not: it was stopped, it did not finish
      journal_.mark(HW_MARK_PREEMPT_NOTICE);
      notice_recorded_ = true;
      tell_stop(*signal);
    }
    const int passed_on = policy_.on_signal(signal->number, delivered, base::monotonic_ns());
    send_to_live(passed_on);
    if (is_stop_signal(signal->number)) cancel_pending(passed_on);
  }
}

// Ctrl-Z: the ranks' groups are not the terminal's, so they are stopped and continued from here.
void Supervisor::pass_stop_to_terminal() {
  for (const int signal : {SIGSTOP, SIGCONT}) {
    if (signal == SIGCONT) serve_companion();  // before they go on: others may have taken over
    for (const Rank& rank : ranks_) {
      if (rank.running) ::kill(-rank.child.pid, signal);
    }
    if (signal == SIGSTOP) ::raise(SIGSTOP);
  }
}

void Supervisor::reap_adopted() {
  serve_server();  // a rank's number comes before its end can
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const auto it = std::find_if(ranks_.begin(), ranks_.end(), [&info](const Rank& rank) {
      return rank.running && rank.child.pid == info.si_pid;
    });
    if (it == ranks_.end()) {
      ::waitpid(info.si_pid, nullptr, 0);
      guard_.on_reaped(info.si_pid);
      if (plan_.server != nullptr) plan_.server->on_reaped(info.si_pid);
      for (Chore* chore : plan_.chores) chore->on_reaped(info.si_pid);
      if (plan_.replica != nullptr &&
          plan_.replica->on_reaped(info.si_pid, info.si_code != CLD_EXITED)) {
        sweep_.unspare(info.si_pid);
        watch_replica();
      }
      continue;
    }
    if (it->child.pidfd.valid()) return;  // its own event is under way, in its right place
    on_rank_ready(static_cast<int>(it - ranks_.begin()));
  }
}

// A rank that asks for a holder finds the socket; whoever has to answer is started then.
void Supervisor::watch_replica() {
  if (plan_.replica == nullptr || replica_watched_ || plan_.replica->fd() < 0) return;
  replica_watched_ = watch(plan_.replica->fd(), EPOLLIN, Watch::replica, 0);
}

void Supervisor::start_replica_holder() {
  unwatch(plan_.replica->fd());
  replica_watched_ = false;
  if (const pid_t pid = plan_.replica->start_holder(); pid != 0) sweep_.spare(pid);
}

}  // namespace headway::agent
