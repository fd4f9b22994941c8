// Somebody who lives in the supervisor's loop while ranks run, and may end them: the agent's link
// to the other nodes. Main thread only; no call may block.
#pragma once

#include "agent/policy.h"

namespace headway::agent {

class Companion {
 public:
  enum class Wish {
    none,
    stop,  // the ranks are of no use any more: SIGTERM, after the grace SIGKILL
    kill   // they must be gone now
  };

  Companion() = default;
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
  virtual ~Companion() = default;

  // Readable when serve() has something to do.
  [[nodiscard]] virtual int fd() const = 0;
  // A wish stands until the ranks are gone, and may grow from stop to kill.
  virtual Wish serve() = 0;
  // The first rank that ended badly by itself; `index` counts this machine's.
  virtual void on_rank_failed(int index, const RankEnd& end) = 0;
};

}  // namespace headway::agent
