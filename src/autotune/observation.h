// One tuning of one kernel: which configurations were timed for which problem, on what, and how
// long they took. Plain data, made by the readers of this folder, folded by prune.h. Texts are
// bounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headway::autotune {

enum class Framework : std::uint8_t { triton, inductor };

inline constexpr std::size_t kConfigsMax = 4'096;      // of one tuning
inline constexpr std::size_t kKeyValuesMax = 128;      // of one problem
inline constexpr std::size_t kNameBytesMax = 300;      // of a kernel, a device, a version
inline constexpr std::size_t kConfigBytesMax = 2'000;  // of a configuration's text
inline constexpr std::int64_t kTuningNsMax = 366LL * 24 * 3600 * 1'000'000'000;

struct TimedConfig {
  std::string text;    // exact: "BLOCK_M=64 num_stages=3 num_warps=4"
  double time_ms = 0;  // infinity: it could not be compiled or run
};

struct Observation {
  Framework framework = Framework::triton;
  std::string kernel;
  std::string hardware;                // "" where that is not known: nothing is pinned for it
  std::string shape_class;             // shape_class.h; "" where the problem cannot be classed
  std::string software;                // "triton 3.9.0"; "" where that is not known
  std::string source;                  // a hash of the kernel's source; "" where it is not known
  std::vector<std::string> key_names;  // of the arguments that are the key; may be empty
  std::int64_t tuning_ns = -1;         // what it cost; -1 where that is not known
  bool pruned = false;                 // pins were in use: configurations are missing
  std::vector<TimedConfig> configs;
};

}  // namespace headway::autotune
