// Finds and reads everything that tells of autotuning below some folders: Triton's *.autotune.json,
// the hook's autotune-*.jsonl, inductor's *.best_config, TORCH_TRACE logs. A file that cannot be
// understood is counted, the first ones are named, and the rest is read. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autotune/prune.h"
#include "base/status.h"
#include "compile/autotune_cost.h"

namespace headway::autotune {

inline constexpr std::size_t kFilesMax = 200'000;                         // of each kind
inline constexpr std::size_t kFeedbackBytesMax = std::size_t{256} << 20;  // of one file
inline constexpr std::size_t kProblemsMax = 10;                           // that are named

struct CollectOptions {
  PruneOptions prune;
  std::string hardware;  // for tunings that do not say theirs; "" leaves them out of the pins
};

struct CollectCounts {
  std::uint64_t triton_files = 0, feedback_files = 0, best_config_files = 0, trace_files = 0;
  std::uint64_t tunings = 0;
  std::uint64_t repeated = 0;          // the same tuning again, in a copy of its file
  std::uint64_t unknown_hardware = 0;  // of the tunings
  std::uint64_t bad = 0;               // files and lines that were passed over
  std::uint64_t left_out = 0;          // configurations and tunings beyond the maxima
  std::int64_t best_config_ns = 0;     // what the winners of *.best_config cost to find
  std::vector<std::string> problems;   // the first kProblemsMax: "PATH:LINE: what"
};

struct Collected {
  Pruner pruner;
  std::vector<compile::AutotuneCost> traces;  // the most expensive first
  CollectCounts counts;
};

enum class TuningKind : std::uint8_t { triton, feedback, best_config, trace, unknown };

struct TuningFile {
  std::string path;
  TuningKind kind = TuningKind::unknown;
  std::uint64_t bytes = 0;
};

// In folders, or files that are named; sorted. An error where a path is not there, is something
// else, or nothing is found.
base::Result<std::vector<TuningFile>> find_tunings(const std::vector<std::string>& paths);
// An error where nothing of all could be understood. `progress` is told of bytes that were read.
base::Result<Collected> read_tunings(const std::vector<TuningFile>& files,
                                     const CollectOptions& options,
                                     const std::function<void(std::uint64_t)>& progress = {});

}  // namespace headway::autotune
