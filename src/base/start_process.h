// Starts a program beside this one and goes on: no shell, this process's environment, no descriptor
// but those that are named. Any thread; safe in a process with many. Ranks are not started so: the
// agent's spawn.h ties them to its own life.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headway::base {

struct ProcessPlan {
  std::vector<std::string> argv;  // argv[0] is searched on PATH unless it has a '/'
  std::string program{};          // what is executed, if that is not argv[0]
  // Where its output goes; input is always empty.
  struct Output {
    std::string path = "/dev/null";
    bool append = false;  // else a file is cut first
    unsigned mode = 0600;
  };
  Output output{};
  Output errors{};
  // Descriptors of ours, and the numbers that it gets them under: each lower than all of ours.
  std::vector<std::pair<int, int>> descriptors{};
  bool own_session = false;  // neither the terminal's signals nor our group's
};

// With no signal blocked or ignored, whatever this thread does with them. Its number; the caller
// waits for its end. The error names the program.
Result<pid_t> start_process(const ProcessPlan& plan);

}  // namespace headway::base
