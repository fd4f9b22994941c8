// Finds what a run has started by the mark in its environment (HEADWAY_RUN), whatever group,
// session or parent a process has moved to. For the case that the agent, whose children they were,
// is dead.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace headway::agent {

inline constexpr std::string_view kRunVariable = "HEADWAY_RUN";

// Unlike any other run's; lower-case hexadecimal.
std::string make_run_id();

// Does the process only clean up behind others, and end by itself when they are gone? Killed, it
// would leave their shared memory and semaphores behind.
bool is_janitor(pid_t pid);

// Kills all processes that carry the mark, janitors last and only if they do not end by themselves.
// Returns how many were killed.
int kill_marked(std::string_view run_id);

}  // namespace headway::agent
