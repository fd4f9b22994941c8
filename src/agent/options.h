// What `headway run` was asked to do, checked. A plain value: made by src/cli/run.cc, read by all
// of src/agent.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/hang_watch.h"
#include "agent/nodes.h"
#include "agent/restart_budget.h"
#include "base/status.h"

namespace headway::agent {

inline constexpr int kRanksMax = 256;  // three descriptors a rank fit the usual limit of 1024
inline constexpr std::int64_t kGraceMaxS = 3600;
inline constexpr std::size_t kAttrsMax = 64;

// `run` never answers with these where a rank has a code of its own to give.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitAgentFault = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

enum class CommandKind {
  script,  // headway run train.py …: a Python script, started as ranks
  module,  // headway run -m pkg.train …
  program  // headway run -- CMD …: anything else
};

// When a job under Slurm puts itself back into the queue; each includes the one before.
enum class RequeueWhen { never, preempted, time_limit };

struct RunOptions {
  std::string job;     // empty: from the command's name
  std::string dir;     // empty: from the environment
  std::string python;  // empty: from the environment
  int nproc = 1;
  RestartBudget restarts;
  bool retry_all = false;  // user errors too
  std::int64_t grace_ns = 5'000'000'000;
  HangLimit hang;
  RequeueWhen requeue = RequeueWhen::preempted;
  NodeOptions nodes;
  bool quiet = false;
  bool cold = false;                 // no fork server
  bool auto_dynamic = false;         // learn which sizes change, and compile for any of them
  std::string cache;                 // where compile caches are shared; empty: from the environment
  bool learn_shapes = false;         // of earlier runs: TORCH_COMPILE_JOB_ID
  std::vector<std::string> preload;  // modules for it to import, beside what it learns
  std::string collector;             // where records are sent; empty: from the environment
  std::string autotune_pins;         // a file that `headway autotune --pins` wrote; empty: none
  CommandKind kind = CommandKind::script;
  std::vector<std::string> command;  // script, module or program, then its arguments
  std::vector<std::pair<std::string, std::string>> attrs;
  std::string version;  // of Headway

  // Are the processes ranks, with torchrun's contract? A lone program is not: it may be torchrun.
  [[nodiscard]] bool has_ranks() const { return kind != CommandKind::program || nproc > 1; }
};

base::Status check_options(const RunOptions& options);

// Where records are sent: as asked for, else as the environment says. Empty: nowhere.
[[nodiscard]] std::string collector_of(const RunOptions& options, const std::string* variable);

// "4".
base::Result<int> parse_nproc(const std::string& text);

// Times from 0 to kGraceMaxS (base/duration.h).
base::Result<std::int64_t> parse_grace(const std::string& text);

// "never", "preempted", "time-limit".
base::Result<RequeueWhen> parse_requeue(const std::string& text);

// "key=value" → pair.
base::Result<std::pair<std::string, std::string>> parse_attr(const std::string& text);

}  // namespace headway::agent
