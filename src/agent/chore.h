// Something that wants a moment of the supervisor's loop while ranks run, and has no say in what
// becomes of them. Main thread only; no call may block.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace headway::agent {

class Chore {
 public:
  Chore() = default;
  Chore(const Chore&) = delete;
  Chore& operator=(const Chore&) = delete;
  virtual ~Chore() = default;

  // When serve() wants to be called at the latest, on the monotonic clock; none: when it happens.
  [[nodiscard]] virtual std::optional<std::int64_t> next_ns() const = 0;
  virtual void serve(std::int64_t now_ns) = 0;
  // Somebody's wait has taken the exit of a process.
  virtual void on_reaped(pid_t pid) = 0;
};

}  // namespace headway::agent
