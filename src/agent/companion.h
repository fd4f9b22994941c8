// Somebody who lives in the supervisor's loop while ranks run, and may end them: the agent's link
// to the other nodes. Main thread only; no call may block.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/policy.h"
#include "record/board.h"

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

  // When the ranks here must be gone, if nothing is heard until then; on CLOCK_BOOTTIME.
  [[nodiscard]] virtual std::optional<std::int64_t> lease_until_ns() const = 0;

  // On which the ranks here ask whether to stop; null: from now on the companion has no say there.
  virtual void use_board(record::Board* board) = 0;
  // The ranks here are to end soon: all nodes' shall save and end after one common step.
  virtual void ask_for_last_step() = 0;
  // Some node has asked.
  [[nodiscard]] virtual bool last_step_asked() const = 0;
  // Agreed on, and on the board.
  [[nodiscard]] virtual std::optional<std::int64_t> last_step() const = 0;
};

}  // namespace headway::agent
