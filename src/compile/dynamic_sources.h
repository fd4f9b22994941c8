// Which sizes and numbers to make dynamic from the start, so that a job does not compile for the
// first of them and then again: from what changed between compilations (of any number of runs and
// ranks), why torch compiled again, and torch's own profiles. Pure; any thread.
//
// What is named is what saves a compilation, no more: not what torch makes special all the same (0,
// 1, or a size that the code depends on), nor what changed in no function that was compiled again.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/compile_log.h"
#include "compile/source_pattern.h"

namespace headway::compile {

inline constexpr std::string_view kDynamicSourcesVariable = "TORCH_COMPILE_DYNAMIC_SOURCES";
// A variable of the environment may have 128 KiB on Linux.
inline constexpr std::size_t kSettingBytesMax = 64 << 10;
inline constexpr std::size_t kFunctionsTold = 4;  // of one source

struct DynamicSource {
  SourceDim at;
  std::size_t changes = 0;             // compilations in which it was another; 0: from a profile
  std::string was, is;                 // an example
  std::vector<std::string> functions;  // where it changes
  std::string code;  // with also_in: a line for the script that touches only where it changes
  std::vector<std::string> also_in;  // where it does not, and will be dynamic too: the same name
};

// What cannot be made dynamic by its name.
struct UnnamedSource {
  SourceDim at;
  std::string why;
  std::string function;
  std::string code;  // a line for the script that does it; "": there is none
  std::size_t changes = 0;
};

// One function, over all processes.
struct FunctionCompiles {
  std::string what;  // "forward (train.py:12)"
  std::size_t compiles = 0, again = 0, saved = 0;
  std::int64_t total_us = 0, saved_us = 0;
};

struct RemainingReason {
  std::string what;  // the function
  std::string text;  // the guard
  std::size_t count = 0;
};

struct DynamicFindings {
  std::vector<DynamicSource> sources;  // in the order of their names
  std::vector<UnnamedSource> unnamed;
  std::vector<SourceEntry> entries;  // for the setting
  std::string setting;               // the entries with commas between
  std::vector<FunctionCompiles> functions;
  std::set<SourceDim> useless;             // dynamic, and compiled for each value all the same
  std::vector<RemainingReason> remaining;  // why it will compile again all the same
  std::set<KnownSource> known;             // all that was seen, changed or not
  bool known_whole = true;                 // else sources are not joined into expressions
  std::size_t compiles = 0, again = 0, saved = 0;
  std::int64_t total_us = 0, saved_us = 0;
  std::int64_t saved_longest_us = 0;  // by the process that gains most
  std::size_t entries_left_out = 0;   // beyond kSettingBytesMax
};

// The entries and the setting alone, for sources that are known from elsewhere.
void write_setting(DynamicFindings& findings);

// `applied`: what the setting had made dynamic in these processes already.
[[nodiscard]] DynamicFindings find_dynamic_sources(const std::vector<ProcessLog>& logs,
                                                   const std::set<SourceDim>& applied = {});

}  // namespace headway::compile
