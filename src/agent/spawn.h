// Starts one process: fork, the child's few calls, exec, and the news whether exec worked. Called
// from the agent's main thread only (PR_SET_PDEATHSIG is bound to the thread that forks).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/signals.h"
#include "base/file.h"
#include "base/status.h"

namespace headway::agent {

struct SpawnPlan {
  std::vector<std::string> argv;  // argv[0] is searched on PATH unless it has a '/'
  Environment environment;
  bool capture_output = false;  // pipes for stdout and stderr, /dev/null for stdin
  bool own_process_group = true;
  int keep_fd = -1;  // stays open in the program, under this number
};

// Where a process's output goes. `read` ends are ours and do not block.
struct OutputPipes {
  base::UniqueFd null_input;
  base::UniqueFd out_read, out_write;
  base::UniqueFd err_read, err_write;
};
base::Status make_output_pipes(OutputPipes& pipes);

struct Child {
  pid_t pid = 0;
  base::UniqueFd pidfd;
  base::UniqueFd out;  // our ends, non-blocking; invalid when output is not captured
  base::UniqueFd err;
};

// Code::not_found: no such program; Code::unsupported: it cannot be executed; else io_error.
base::Result<Child> spawn(const SpawnPlan& plan, const Signals& signals);

// Waits for a child's end and reaps it; its wait status.
int wait_for_end(pid_t pid);

// Invalid on a kernel without pidfds: SIGCHLD alone tells us then.
base::UniqueFd open_pidfd(pid_t pid);

// The program that a name means, as a shell would find it; empty when there is none.
std::string find_program(const std::string& name, const Environment& environment);

}  // namespace headway::agent
