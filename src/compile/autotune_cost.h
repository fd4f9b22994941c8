// What finding the best configuration of each kernel cost, as torch's events tell it: while a graph
// is compiled (templates of matrix products and the like), and when a Triton kernel first runs.
// Plain data, and the fold that makes it. One owner, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compile/trace_line.h"

namespace headway::compile {

struct AutotuneCost {
  std::string kernel;  // "triton_poi_fused_add_0"; of a template "mm" and its shapes
  bool is_template = false;
  CompileId first;                // the compilation that it was first tuned for
  std::uint64_t runs = 0;         // how often it was tuned
  std::int64_t configs = 0;       // candidates, the most that were told; 0: not told
  std::int64_t compile_us = 0;    // they were compiled
  std::int64_t benchmark_us = 0;  // and measured
  std::int64_t descent_us = 0;    // by coordinate descent, after that
  std::string cache;              // "hit" or "miss" of the cache of best configurations
  std::string best;               // what won, where it is told
  [[nodiscard]] std::int64_t total_us() const { return compile_us + benchmark_us + descent_us; }
};

// An event of tuning, taken apart by the fold of the log.
struct TuneEvent {
  std::string_view name;    // "CachingAutotuner.benchmark_all_configs"
  std::string_view kernel;  // argument kernel_name
  std::string_view shapes;  // argument autotune_shape
  std::string_view stats;   // argument autotune_choices_stats, JSON
  char phase = ' ';         // 'B' or 'E'
  std::int64_t at_us = 0;
  CompileId id;
};

class AutotuneFold {
 public:
  static constexpr std::size_t kKernelsMax = 20'000;  // of one log
  static constexpr std::size_t kOpenMax = 256;

  // Whether an event of this name has to do with tuning.
  [[nodiscard]] static bool is_tuning(std::string_view event);
  void add(const TuneEvent& event);
  // The payload of an artifact triton_kernel_info: {kernel: {num_configs, compile_time_us, …}}.
  // Padded for simdjson.
  void add_kernel_info(std::string_view json, const CompileId& id);

  // The most expensive first. Kernels that cost nothing and have one configuration are not there.
  [[nodiscard]] std::vector<AutotuneCost> finish();
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Open {
    std::string name, kernel;
    std::int64_t at_us = 0;
  };
  AutotuneCost* cost_of(std::string_view kernel, bool is_template, const CompileId& id);

  std::vector<AutotuneCost> costs_;
  std::unordered_map<std::string, std::size_t> by_kernel_;
  std::vector<Open> open_;
  std::string precompiled_;  // a template whose candidates were compiled just now
  std::int64_t precompile_us_ = 0;
  std::uint64_t left_out_ = 0;
};

// Of several logs together: the same kernel counts as one.
[[nodiscard]] std::vector<AutotuneCost> merge_costs(
    const std::vector<const std::vector<AutotuneCost>*>& logs);

}  // namespace headway::compile
