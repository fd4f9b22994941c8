// What the supervisor does with a scheduler's signals.
#include <poll.h>

#include <csignal>

#include "agent/notice.h"
#include "agent/supervisor.h"
#include "base/check.h"
#include "base/clock.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

constexpr std::int64_t kWordWaitNs = 200'000'000;
constexpr std::int64_t kLastWordWaitNs = 100'000'000;  // what every end under a scheduler costs

}  // namespace

void Supervisor::on_scheduler_signal(int signal) {
  HW_CHECK(plan_.scheduler != nullptr);
  const std::int64_t now_ns = base::monotonic_ns();
  plan_.scheduler->on_signal(now_ns);
  const bool told_before = policy_.outcome().stop_signal != 0;
  const bool they_know = plan_.scheduler->ranks_have_it();
  if (signal == SIGTERM) {
    // A second one is the end of the grace time: the scheduler kills when it means to, and somebody
    // may still be saving.
    const int first = told_before ? SIGTERM : policy_.on_signal(SIGTERM, false, now_ns);
    agree_on_stop();
    if (!they_know) send_to_live(first);
  } else {
    const bool ending = plan_.scheduler->ending();
    if (ending && !told_before) policy_.on_signal(SIGTERM, false, now_ns);
    if (ending) agree_on_stop();
    for (int index = 0; index < plan_.nproc; ++index) {
      const Rank& rank = ranks_[static_cast<std::size_t>(index)];
      if (!rank.running || they_know || (ending && asks_to_stop(index))) continue;
      const int adapted = user_signal_for(caught_signals(rank.child.pid), signal, ending);
      if (adapted != 0) ::kill(rank.child.pid, adapted);
    }
  }
  record_notice();
}

// At a job's end, and in a step at the begin of a grace time, Slurm signals all processes, ranks
// too, one after the other. A rank that died of it before we have been told is no failure of its
// own.
void Supervisor::await_word(const RankEnd& end) {
  if (shell_code(end) != 128 + SIGTERM || policy_.tearing_down()) return;
  serve_signals_until_told(kWordWaitNs);
}

// Nor has the training finished if all ranks ended well because of such a signal.
void Supervisor::await_last_word() {
  serve_signals_until_told(kLastWordWaitNs);
}

void Supervisor::serve_signals_until_told(std::int64_t wait_ns) {
  const std::int64_t until_ns = base::monotonic_ns() + wait_ns;
  while (policy_.outcome().stop_signal == 0) {
    const std::int64_t left_ns = until_ns - base::monotonic_ns();
    if (left_ns <= 0) return;
    pollfd fd{signals_.fd(), POLLIN, 0};
    ::poll(&fd, 1, static_cast<int>(left_ns / 1'000'000 + 1));
    on_signals();
  }
}

// Under a scheduler only what it confirms is a notice: scancel sends the same signal.
void Supervisor::record_notice() {
  const auto notice_ns = plan_.scheduler->take_notice_ns();
  if (!notice_ns) return;
  plan_.before_mark();
  journal_.mark_at_monotonic(HW_MARK_PREEMPT_NOTICE, *notice_ns);
  notice_recorded_ = true;
}

// Whoever ends last may be the first to hear of it.
void Supervisor::learn_why_stopped() {
  plan_.scheduler->await_cause();
  record_notice();
}

int Supervisor::origin_of_failure() {
  const Outcome& outcome = policy_.outcome();
  if (plan_.scheduler == nullptr || outcome.stop_signal != SIGTERM) {
    return failure_origin(outcome, plan_.under_scheduler);
  }
  learn_why_stopped();
  return plan_.scheduler->stop_origin();
}

}  // namespace headway::agent
