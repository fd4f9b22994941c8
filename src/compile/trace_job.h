// The logs of one job's processes side by side: every rank's compilations, why its caches missed,
// and where ranks did not compile the same. Pure but for reading the files; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compile/compile_log.h"
#include "compile/components.h"

namespace headway::compile {

struct TraceJob {
  ComponentTable components;  // of all logs
  std::vector<ProcessLog> logs;
  std::vector<ProcessLog> other;  // of the trace that this one is compared with; may be empty
};

inline constexpr std::size_t kLogsMax = 10'000;

// Folders (their TORCH_TRACE logs) and files; each log once, whatever pieces of it are there or
// named (log_pieces.h). An error where nothing is found.
base::Result<std::vector<std::string>> find_logs(const std::vector<std::string>& paths);
// By rank, then in the order in which they were begun. `progress` is told of bytes that were read.
// However many there are, what is kept of them has room (TraceRoom), and a log says what had none.
base::Result<std::vector<ProcessLog>> read_logs(const std::vector<std::string>& files,
                                                TraceReadOptions options,
                                                ComponentTable& components,
                                                const std::function<void(std::uint64_t)>& progress);

struct AskRef {
  std::size_t log = 0, compile = 0, ask = 0;
};
// Why a key was not in the cache: what tells it from the most similar one that was asked for before
// it (or in the other trace).
struct MissCause {
  AskRef miss;
  bool has_nearest = false;
  bool in_other = false;  // the nearest is of the other trace
  AskRef nearest;
  std::vector<ComponentChange> changes;  // none: it is the same key
  bool being_made = false;               // the same key, and another process was still compiling it
};
// For every miss that lists its components.
[[nodiscard]] std::vector<MissCause> explain_misses(const TraceJob& job);

// A compilation that not all ranks did, or did not do alike.
struct Divergence {
  CompileId id;
  std::string what;                 // "forward (train.py:12)"
  std::string how;                  // "not compiled", "another function", "another graph"
  std::vector<std::int32_t> ranks;  // the fewer
};
[[nodiscard]] std::vector<Divergence> compare_ranks(const TraceJob& job);

// "forward (train.py:12)": the file without its folder.
[[nodiscard]] std::string what_of(const Compile& compile);

}  // namespace headway::compile
