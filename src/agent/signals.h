// The agent's signals as a readable descriptor. Those that were ignored when we began (nohup, a
// background job of a script) stay ignored, for us and for the ranks. Single-threaded; the ranks
// get the mask and the dispositions that we were started with.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>

#include "base/file.h"
#include "base/status.h"

namespace headway::agent {

struct Signal {
  int number = 0;
  bool from_terminal = false;  // sent by the kernel to the whole foreground group
  int sender = 0;              // a process's number; 0: the kernel, or one we cannot see
};

class Signals {
 public:
  Signals() = default;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // `own_groups`: ranks do not share our process group, so Ctrl-Z has to be passed on too.
  base::Status start(bool own_groups);
  std::optional<Signal> next();
  [[nodiscard]] int fd() const { return fd_.get(); }
  // For a child between fork and exec; only async-signal-safe calls.
  void restore_in_child() const;

 private:
  base::UniqueFd fd_;
  sigset_t original_mask_{};
};

}  // namespace headway::agent
