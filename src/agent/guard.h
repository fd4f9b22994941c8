// A tiny process that outlives the agent by a moment: when the agent dies without a word (SIGKILL),
// it kills whatever the run has started and is still there, so that data-loader workers and other
// helpers do not stay behind. The ranks themselves die by PR_SET_PDEATHSIG.
//
// On several nodes it also keeps the lease: an agent that is stopped or starved cannot end its
// ranks when others are about to take over, so the guard does. The two share a timer, which the
// agent puts off as long as it lives; the guard sleeps until it rings.
//
// Made before anything that a forked copy should not hold (locks, journals, threads).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"

namespace headway::agent {

class Guard {
 public:
  Guard() = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();  // ends the process and reaps it

  // Without a guard (no process left) everything works but the case above.
  void start(const std::string& run_id);
  // When nothing of the run may be left, on CLOCK_BOOTTIME; none: there is no such time.
  void fence_at(std::optional<std::int64_t> boot_ns);
  // Somebody's wait has taken its exit: the number is no longer its own.
  void on_reaped(pid_t pid) {
    if (pid == pid_) pid_ = 0;
  }

 private:
  [[noreturn]] void serve(const std::string& run_id, pid_t agent) const;

  base::UniqueFd timer_;
  pid_t pid_ = 0;
};

}  // namespace headway::agent
