// Which configurations of a kernel are worth tuning: those that won, or nearly won, tunings of the
// same kernel, class of shapes and hardware. Observations may come in any order and give the
// same answer. Memory is that of the kernels, classes and configurations, not of the observations.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/observation.h"

namespace headway::autotune {

inline constexpr std::size_t kKernelsMax = 100'000;
inline constexpr std::size_t kClassesMax = 500'000;       // of all kernels
inline constexpr std::size_t kKernelConfigsMax = 16'384;  // of one kernel, over all tunings

// What won some tuning of a class stays. Beside it stays what was near the winner in at least half
// of its tunings, and the less is known of a class the further from it is near:
//
//   tuned once   twice   3 … 15 times   16 times and more
//       4 ε       2 ε         ε         only winners stay
//
// One step to the left where winners contradict each other: none was within ε of the best in every
// tuning. What was never timed for a class stays, too.
inline constexpr std::uint64_t kRunsFew = 3;
inline constexpr std::uint64_t kRunsMany = 16;

struct PruneOptions {
  double epsilon = 0.05;
};

struct ClassVerdict {
  std::string hardware, shape_class;
  std::uint64_t runs = 0;         // tunings of all configurations
  std::uint64_t pruned_runs = 0;  // tunings with pins in use
  bool contradicting = false;
  bool pinned = false;            // something is left out, and it is known for which hardware
  std::size_t measured = 0;       // configurations that were timed for this class
  std::vector<std::string> keep;  // of the kernel's; sorted. Those never timed here stay, too
  std::size_t kept_measured = 0;  // of `keep`, those that were timed here
  std::int64_t tuning_ns = 0;     // of `runs`, as far as known
  std::int64_t saved_ns = 0;      // of that, with these pins
};

struct KernelVerdict {
  Framework framework = Framework::triton;
  std::string kernel, source, software;
  std::vector<std::string> key_names;
  std::vector<std::string> configs;  // that were ever timed; sorted
  std::uint64_t runs = 0;            // tunings, pruned ones included
  std::uint64_t unclassed_runs = 0;  // of them, those whose problem or hardware is not known
  std::uint64_t timed = 0;           // configurations, over all runs
  std::uint64_t would_time = 0;      // with these pins
  bool cost_known = false;           // of at least one run
  std::int64_t tuning_ns = 0, saved_ns = 0;
  std::vector<ClassVerdict> classes;  // by hardware and class
};

class Pruner {
 public:
  explicit Pruner(const PruneOptions& options = {});
  ~Pruner();
  Pruner(Pruner&&) noexcept;
  Pruner& operator=(Pruner&&) noexcept;

  void add(const Observation& one);
  // By what they cost, most first; then by how much they timed, then by name.
  [[nodiscard]] std::vector<KernelVerdict> finish() const;
  [[nodiscard]] std::uint64_t left_out() const;  // observations beyond the maxima above

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headway::autotune
