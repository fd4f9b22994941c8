// A question to another program, which may never answer: started at once, read when there is time,
// given up after a bound. Main thread only; nothing here blocks for longer than its argument says.
//
// What it writes is small enough for a pipe to hold (bytes_max), so nobody has to serve it
// meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/signals.h"
#include "agent/spawn.h"

namespace headway::agent {

class Ask {
 public:
  static constexpr std::size_t bytes_max = 32 * 1024;
  enum class State { idle, pending, answered, failed };

  Ask() = default;
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;
  ~Ask() { give_up(); }

  // Forgets what was asked before. Failed when the program cannot be started.
  void start(std::vector<std::string> argv, const Environment& environment, const Signals& signals,
             std::int64_t bound_ns);
  // Waits for the end of the answer, at most `wait_ns`.
  State wait(std::int64_t wait_ns);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void give_up();

  State state_ = State::idle;
  Child child_;
  std::int64_t deadline_ns_ = 0;
  std::string out_;
  std::string error_;
};

}  // namespace headway::agent
