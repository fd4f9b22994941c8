// How the Supervisor's ranks are told to end: by a signal, or, where they ask (hw.should_stop), by
// the board, so that all end after the same step.
#include <fmt/format.h>

#include <csignal>

#include "agent/supervisor.h"

namespace headway::agent {

bool Supervisor::asks_to_stop(int rank) const {
  return plan_.board != nullptr && plan_.board->asks(static_cast<std::uint32_t>(rank));
}

// A rank that asks is told there, and no signal may hurry it. After another rank's failure it has
// nothing to save, and its SIGTERM is switched off: then only SIGKILL ends it.
int Supervisor::signal_for(int rank, int signal) const {
  if (!is_stop_signal(signal) || !asks_to_stop(rank)) return signal;
  return policy_.stopping() ? 0 : SIGKILL;
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
  const auto step = plan_.board->stop_soon();
  if (!step) return;
  stop_agreed_ = true;
  console_.note(fmt::format("asked to stop: all ranks save and end after step {}", *step));
}

}  // namespace headway::agent
