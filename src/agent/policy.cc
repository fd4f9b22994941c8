#include "agent/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/check.h"
#include "headway/headway.h"

namespace headway::agent {

bool is_stop_signal(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

int shell_code(const RankEnd& end) {
  return end.signal != 0 ? 128 + end.signal : end.exit_code;
}

std::string describe_end(const RankEnd& end) {
  if (end.signal == 0) return fmt::format("exited with code {}", end.exit_code);
  const char* name = sigabbrev_np(end.signal);
  return name != nullptr ? fmt::format("was killed by SIG{}", name)
                         : fmt::format("was killed by signal {}", end.signal);
}

AttemptPolicy::AttemptPolicy(int ranks, std::int64_t grace_ns)
    : grace_ns_(grace_ns), ended_(static_cast<std::size_t>(ranks), false), live_(ranks) {
  HW_CHECK(ranks > 0);
  HW_CHECK(grace_ns >= 0);
}

int AttemptPolicy::on_rank_end(int rank, const RankEnd& end, std::int64_t now_ns) {
  HW_CHECK(alive(rank));
  ended_[static_cast<std::size_t>(rank)] = true;
  --live_;
  outcome_.ends.push_back({rank, end, tearing_down()});
  if (!end.clean() && !outcome_.failed_rank && !outcome_.for_others) {
    outcome_.failed_rank = rank;
    outcome_.failed_end = end;
    // Only a signal that shows in the end was a wish to stop: a debugger's Ctrl-C was not.
    if (noted_signal_ != 0 && outcome_.stop_signal == 0 && shell_code(end) == 128 + noted_signal_) {
      outcome_.stop_signal = noted_signal_;
    }
  }
  if (live_ == 0) {
    deadline_ns_.reset();
    return 0;
  }
  if (state_ == State::stopping && !deadline_ns_) {
    deadline_ns_ = now_ns + std::max(grace_ns_, stop_grace_min_ns);
  }
  if (state_ == State::running && !end.clean()) {
    state_ = State::tearing_down;
    deadline_ns_ = now_ns + grace_ns_;
    return SIGTERM;
  }
  return 0;
}

int AttemptPolicy::on_signal(int signal, bool delivered, std::int64_t now_ns) {
  if (!is_stop_signal(signal)) return delivered ? 0 : signal;
  if (delivered) {
    noted_signal_ = signal;
    return 0;
  }
  const bool again = outcome_.stop_signal != 0;
  hurried_ = hurried_ || again;
  outcome_.stop_signal = again ? outcome_.stop_signal : signal;
  if (state_ == State::killing || live_ == 0) return 0;
  if (again) {
    state_ = State::killing;
    deadline_ns_.reset();
    return SIGKILL;
  }
  // During a tear-down the ranks have their deadline already; we merely do not start again.
  if (state_ == State::tearing_down) return 0;
  state_ = State::stopping;
  if (live_ < static_cast<int>(ended_.size())) {
    deadline_ns_ = now_ns + std::max(grace_ns_, stop_grace_min_ns);
  }
  return signal;
}

int AttemptPolicy::on_hang(int rank, std::int64_t now_ns) {
  if (state_ != State::running) return 0;
  HW_CHECK(alive(rank));
  outcome_.failed_rank = rank;
  outcome_.failed_end = RankEnd{kExitHang, 0};
  outcome_.hung = true;
  state_ = State::tearing_down;
  deadline_ns_ = now_ns + grace_ns_;
  return SIGTERM;
}

int AttemptPolicy::on_peer_failure(std::int64_t now_ns) {
  if (live_ == 0 || (state_ != State::running && state_ != State::stopping)) return 0;
  outcome_.for_others = true;
  const bool told = state_ == State::stopping;  // whoever saves has the grace left for it
  state_ = State::tearing_down;
  deadline_ns_ = std::min(deadline_ns_.value_or(now_ns + grace_ns_), now_ns + grace_ns_);
  return told ? 0 : SIGTERM;
}

int AttemptPolicy::on_fenced() {
  if (live_ == 0) return 0;
  if (state_ == State::running || state_ == State::stopping) outcome_.for_others = true;
  state_ = State::killing;
  deadline_ns_.reset();
  return SIGKILL;
}

int AttemptPolicy::on_deadline(std::int64_t now_ns) {
  if (!deadline_ns_ || now_ns < *deadline_ns_) return 0;
  deadline_ns_.reset();
  state_ = State::killing;
  return SIGKILL;
}

Verdict judge(const Outcome& outcome, bool may_restart, bool under_scheduler) {
  Verdict verdict;
  verdict.exit_code = outcome.failed() ? shell_code(outcome.failed_end) : 0;
  verdict.restart = outcome.failed() && outcome.stop_signal == 0 && may_restart;
  const bool may_be_requeued = under_scheduler && outcome.stop_signal == SIGTERM;
  verdict.job_ends = !verdict.restart && !may_be_requeued;
  return verdict;
}

int failure_origin(const Outcome& outcome, bool under_scheduler) {
  if (outcome.stop_signal == 0) return HW_ORIGIN_UNKNOWN;
  if (outcome.stop_signal == SIGTERM && under_scheduler) return HW_ORIGIN_PREEMPTION;
  return HW_ORIGIN_USER;
}

}  // namespace headway::agent
