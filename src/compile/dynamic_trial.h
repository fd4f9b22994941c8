// Is a job better off with what was made dynamic? Code for any size may be slower than code for
// one; what it saves is compilations. From the records of attempts with it and without. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::compile {

// One attempt of a job. Times of a step are those of its slowest rank, of steps in which nothing
// was compiled.
struct TrialRecord {
  std::string job;
  std::uint64_t attempt = 0;
  std::string setup;  // only attempts with the same one are compared
  bool applied = false;
  std::int64_t steps = 0;      // trained
  std::int64_t measured = 0;   // of them
  std::int64_t step_ns = 0;    // their median
  std::int64_t spread_ns = 0;  // from the first quartile to the third
  std::int64_t compiles = 0;   // in the process that compiled longest
  std::int64_t compile_us = 0;
  // What its own trace says that it would not have compiled, in the process that would gain most.
  std::int64_t saved_us = 0;
};

inline constexpr std::int64_t kTrialStepsMin = 30;   // of an attempt that counts
inline constexpr double kTrialSlowerMin = 1.02;      // less is noise, whatever the spread says
inline constexpr std::size_t kTrialRecordsUsed = 8;  // the newest of each kind

enum class TrialOutcome : std::uint8_t { undecided, keep, take_back };

struct TrialVerdict {
  TrialOutcome outcome = TrialOutcome::undecided;
  std::int64_t with_ns = 0, without_ns = 0;  // a step
  std::int64_t steps = 0;                    // of an attempt
  std::int64_t lost_us = 0;                  // by slower steps, an attempt; 0: they are not slower
  // By compiling less: as the attempts without it tell of themselves. The time that others compiled
  // is not held against theirs: caches that are warm by then would count as gained.
  std::int64_t saved_us = 0;
  std::string text;  // for a person
};

[[nodiscard]] TrialVerdict judge_trial(const std::vector<TrialRecord>& records,
                                       std::string_view setup);

// The middle of the values; 0: there are none. An even number: the mean of the two.
[[nodiscard]] std::int64_t median_of(std::vector<std::int64_t> values);

}  // namespace headway::compile
