// How the Supervisor's ranks are told to end: by a signal, or, where they ask (hw.should_stop), by
// the board, so that all end after the same step. On several nodes that step is the companion's to
// find; should it not be found in time, at least the ranks of this machine end together.
#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "agent/supervisor.h"
#include "base/clock.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

// Some round trips between machines; of the half minute that schedulers give at least, the rest
// must do for the save.
constexpr std::int64_t kOthersWaitNs = 5'000'000'000;

}  // namespace

bool Supervisor::asks_to_stop(int rank) const {
  return plan_.board != nullptr && plan_.board->asks(static_cast<std::uint32_t>(rank));
}

// A rank that asks is told there, and no signal may hurry it. After another rank's failure it has
// nothing to save, and its SIGTERM is switched off: then only SIGKILL ends it.
int Supervisor::signal_for(int rank, int signal) const {
  if (!is_stop_signal(signal) || !asks_to_stop(rank)) return signal;
  return policy_.stopping() || stop_agreed_ ? 0 : SIGKILL;
}

void Supervisor::send_to_live(int signal) {
  if (signal == 0) return;
  if (is_stop_signal(signal)) agree_on_stop();
  for (int index = 0; index < plan_.nproc; ++index) {
    const Rank& rank = ranks_[static_cast<std::size_t>(index)];
    const int own = rank.running ? signal_for(index, signal) : 0;
    // Unreaped, so the number is still this process's. For the rank alone; what helpers are left
    // when all have ended is swept.
    if (own != 0) ::kill(rank.child.pid, own);
  }
}

void Supervisor::agree_on_stop() {
  if (plan_.board == nullptr || stop_agreed_ || !policy_.stopping()) return;
  if (!plan_.board->latest()) return;  // nobody asks
  if (plan_.companion == nullptr) {
    if (const auto step = plan_.board->stop_soon()) stop_after(*step);
  } else if (!last_step_until_ns_) {
    last_step_until_ns_ = base::monotonic_ns() + kOthersWaitNs;
    plan_.companion->ask_for_last_step();
  }
}

void Supervisor::tell_stop(const Signal& signal) {
  const std::string who = signal.sender > 0 ? fmt::format(" from process {}", signal.sender) : "";
  const char* follows = policy_.outcome().stop_signal == 0
                            ? "the ranks are asked to end, and no restart follows"
                            : "asked again: the ranks are killed";
  console_.note(fmt::format("got SIG{}{}; {}", sigabbrev_np(signal.number), who, follows));
}

void Supervisor::stop_after(std::int64_t step) {
  stop_agreed_ = true;
  last_step_until_ns_.reset();
  console_.note(fmt::format("asked to stop: all ranks save and end after step {}", step));
}

void Supervisor::follow_last_step() {
  if (plan_.companion == nullptr || plan_.board == nullptr || stop_agreed_) return;
  if (plan_.companion->last_step_asked() && !notice_recorded_) {  // another node's is ours too
    notice_recorded_ = true;
    journal_.mark(HW_MARK_PREEMPT_NOTICE);
  }
  if (const auto step = plan_.companion->last_step()) {
    stop_after(*step);
  } else if (last_step_until_ns_ && base::monotonic_ns() >= *last_step_until_ns_) {
    plan_.companion->use_board(nullptr);
    const auto own = plan_.board->stop_soon();
    console_.note("the other nodes do not agree on a last step: going on without them");
    if (own) stop_after(*own);
    last_step_until_ns_.reset();
  }
}

}  // namespace headway::agent
