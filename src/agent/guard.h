// A tiny process that outlives the agent by a moment: when the agent dies without a word (SIGKILL),
// it kills the process groups of the ranks, so that data-loader workers and other helpers do not
// stay behind. The ranks themselves die by PR_SET_PDEATHSIG.
//
// Made before anything that a forked copy should not hold (locks, journals, threads). A helper that
// has left its rank's group by setsid() is out of its reach.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "agent/options.h"

namespace headway::agent {

class Guard {
 public:
  Guard() = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();  // ends the process and reaps it

  // Without a guard (no memory, no process left) everything works but the case above.
  void start();
  void watch(int rank, pid_t group);
  void forget(int rank);
  // Somebody's wait has taken its exit: the number is no longer its own.
  void on_reaped(pid_t pid) {
    if (pid == pid_) pid_ = 0;
  }

 private:
  struct Table {
    std::atomic<pid_t> groups[kRanksMax];
  };
  [[noreturn]] static void serve(const Table* table, pid_t agent);

  Table* table_ = nullptr;  // shared with the guard
  pid_t pid_ = 0;
};

}  // namespace headway::agent
