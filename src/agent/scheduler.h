// The scheduler that we run under, as the supervisor needs it: is a signal its announcement that
// the allocation ends, and why does it end? One implementation a scheduler. Main thread only; a
// call may wait a bounded moment for an answer, and "not known" is always an answer.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/policy.h"

namespace headway::agent {

class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  // May this signal be the scheduler's word? Others are nobody's business here.
  [[nodiscard]] virtual bool may_announce(int signal) const = 0;
  // It has come just now. Returns at once.
  virtual void on_signal(std::int64_t now_monotonic_ns) = 0;
  // Is the allocation about to end, so that ranks should save?
  virtual bool ending() = 0;
  // Has it sent the signal to the ranks as well? Told twice, a script saves twice, or is killed
  // while it shuts down.
  virtual bool ranks_have_it() = 0;
  // When a preemption was announced: told once, when it is sure.
  virtual std::optional<std::int64_t> take_notice_ns() = 0;
  // An end has followed the announcement: waits, a bounded moment, until it is known why.
  virtual void await_cause() = 0;
  // hw_origin of that end, as far as it is known by now.
  virtual int stop_origin() = 0;
};

}  // namespace headway::agent
