// How long this process has been evaluating: steps between which it did took no longer for it. One
// evaluation at a time, as the journal has it; the interpreter's lock is ours.
#pragma once

#include <cstdint>
#include <ctime>

#include "headway/headway.h"

namespace headway::python {

class EvaluationClock {
 public:
  void begin(std::uint16_t phase) {
    if (phase == HW_PHASE_EVAL && began_ns_ == 0) began_ns_ = now_ns();
  }
  void end(std::uint16_t phase) {
    if (phase != HW_PHASE_EVAL || began_ns_ == 0) return;
    ended_ns_ += now_ns() - began_ns_;
    began_ns_ = 0;
  }
  [[nodiscard]] std::int64_t total_ns() const {
    return ended_ns_ + (began_ns_ == 0 ? 0 : now_ns() - began_ns_);
  }

 private:
  static std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  std::int64_t began_ns_ = 0;  // 0: none goes on
  std::int64_t ended_ns_ = 0;  // all that are over
};

}  // namespace headway::python
