// In which form a scheduler's announcement reaches a rank. A signal that a process does not catch
// ends it at once, with all that it has not saved; so a rank is told by a signal that it catches,
// or not at all, and then trains until the scheduler means it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace headway::agent {

// Bit n-1 stands for signal n.
using SignalSet = std::uint64_t;

// The signals that have a handler, from the text of /proc/PID/status.
std::optional<SignalSet> parse_caught(std::string_view status_text);
// nullopt: it cannot be seen, or is gone.
std::optional<SignalSet> caught_signals(pid_t pid);

// The user signal came. What to send to a rank that catches `caught`; 0: nothing. `ending`: it
// announces the end, and SIGTERM says the same to those who know only that.
int user_signal_for(std::optional<SignalSet> caught, int user_signal, bool ending);

}  // namespace headway::agent
