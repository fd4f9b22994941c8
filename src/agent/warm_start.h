// Whether ranks come from a fork server, and the server's life over a job's attempts: started with
// the first, started again when it ends, at most starts_max times. Main thread only.
#pragma once

#include <string>

#include "agent/fork_server.h"
#include "agent/options.h"
#include "agent/signals.h"
#include "agent/spawn.h"
#include "agent/sweep.h"

namespace headway::agent {

class WarmStart {
 public:
  static constexpr int starts_max = 20;

  WarmStart(const RunOptions& options, bool own_groups, const Signals& signals, Sweep& sweep);

  // Before an attempt. `rank` is the plan of any rank; `root` is where jobs are kept.
  void prepare(const SpawnPlan& rank, const std::string& root);
  // It has ended: another one, so that the next failure finds it ready.
  void start_again(const SpawnPlan& rank);

  // Null: start plainly.
  [[nodiscard]] ForkServer* server() { return server_.alive() ? &server_ : nullptr; }
  // Why there is none where one could be expected; else empty.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  [[nodiscard]] bool wanted() const;

  const RunOptions& options_;
  const bool own_groups_;
  const Signals& signals_;
  Sweep& sweep_;
  ForkServer server_;
  std::string memory_path_;  // what is learnt of this script; empty: nothing is kept
  std::string reason_;
  bool probed_ = false;
  bool hooked_ = false;  // the interpreter comes by our hook
  int starts_ = 0;
  pid_t spared_ = 0;
};

}  // namespace headway::agent
