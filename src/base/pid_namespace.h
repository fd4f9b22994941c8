// Which PID namespace this process is in: numbers of processes mean something only inside one. Any
// thread.
#pragma once

#include <cstdint>

namespace headway::base {

// Where a machine's own processes are; containers have others.
inline constexpr std::uint32_t initial_pid_namespace = 0xEFFFFFFC;

// The kernel's number of it, the same for all who are in it until the machine is started anew. 0
// where it does not tell.
[[nodiscard]] std::uint32_t pid_namespace();

}  // namespace headway::base
