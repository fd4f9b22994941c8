// Like things of a trace told once: recompilations by function and guard, graph breaks by place,
// what caches passed over or lacked. For every view of a trace. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compile/trace_job.h"

namespace headway::cli {

struct CompileRef {
  std::size_t log = 0, compile = 0;
};

struct TraceGroup {
  std::string text;
  std::string note;  // "made dynamic: L['x']:0"
  std::size_t count = 0;
  std::int64_t us = 0;               // that it took
  std::vector<CompileRef> examples;  // the first ones
  compile::Place place;              // of the first one's own text, in its log; of breaks
  std::uint32_t stack = 0;           // of the first one's code, in its log; 0: not told
};

inline constexpr std::size_t kGroupExamplesMax = 12;

// Those that cost most first, then the most frequent.
[[nodiscard]] std::vector<TraceGroup> recompile_groups(const compile::TraceJob& job);
[[nodiscard]] std::vector<TraceGroup> break_groups(const compile::TraceJob& job);
// Sizes and numbers that hold for one value only.
[[nodiscard]] std::vector<TraceGroup> specialised_groups(const compile::TraceJob& job);
[[nodiscard]] std::vector<TraceGroup> failure_groups(const compile::TraceJob& job);
[[nodiscard]] std::vector<TraceGroup> bypass_groups(const compile::TraceJob& job);
[[nodiscard]] std::vector<TraceGroup> miss_groups(const compile::TraceJob& job,
                                                  const std::vector<compile::MissCause>& misses);

struct TraceSums {
  std::size_t compiles = 0, recompiles = 0, unfinished = 0, failed = 0;
  std::int64_t total_us = 0, recompile_us = 0;
  std::size_t asked[3] = {0, 0, 0};  // by outcome
  std::int64_t saved_us = 0;
  compile::Stages stages;
};
void add(compile::Stages& sum, const compile::Stages& one);
[[nodiscard]] TraceSums sums_of(const std::vector<compile::ProcessLog>& logs);

// What a symbol that holds for one value was made of: "L['x'].size()[0]".
[[nodiscard]] std::string name_of(const compile::Specialised& one);
// A call of the user's code, as a log has it: "/a/train.py:12 in forward".
[[nodiscard]] std::string text_of(const compile::ProcessLog& log, const compile::StackNode& call);

// The hits, misses and bypasses of a compilation in one word; "" where no cache was asked.
[[nodiscard]] std::string_view cache_word(const compile::Compile& compile);
// "made dynamic: L['x']:0, L['y']:1"; "" where nothing was.
[[nodiscard]] std::string dynamic_text(const compile::Compile& compile);
// What all logs together had no room for; "" where all is there.
[[nodiscard]] std::string no_room_text(const std::vector<compile::ProcessLog>& logs);
// What could not be read of a log; "" where all of it could.
[[nodiscard]] std::string damage_text(const compile::ProcessLog& log);

}  // namespace headway::cli
