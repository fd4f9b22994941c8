// What the TORCH_TRACE log of one process says of its compilations: plain data, made by
// trace_fold.h. Texts are bounded; what is longer stays in the file, at its Place. Times are
// microseconds; those of passes are of the real-time clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compile/autotune_cost.h"
#include "compile/code_state.h"
#include "compile/stack_trie.h"
#include "compile/trace_line.h"
#include "compile/trace_reader.h"

namespace headway::compile {

// A payload in the log's file.
struct Place {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

// A text that torch dumped: a graph, guards, output code.
struct Artifact {
  std::string name;
  Place place;
  std::int32_t attempt = -1;
};

// Where the time of a pass went, each without what is nested in it: they add up to the pass.
struct Stages {
  std::int64_t dynamo_us = 0;    // Python is traced, guards are built
  std::int64_t aot_us = 0;       // functionalised, differentiated, cut in two
  std::int64_t inductor_us = 0;  // lowered, passes over the graph
  std::int64_t codegen_us = 0;   // scheduled, fused, source code written
  std::int64_t kernels_us = 0;   // g++, Triton, or waiting for them
  [[nodiscard]] std::int64_t total_us() const {
    return dynamo_us + aot_us + inductor_us + codegen_us + kernels_us;
  }
};

struct Pass {
  bool there = false;
  std::int64_t start_us = 0;
  std::int64_t duration_us = 0;
  std::int64_t autotune_us = 0;
  Stages stages;
  Place metrics;  // JSON of the record's first line
};

// precompile: of whole functions, with their guards (torch._dynamo.config.caching_precompile).
enum class CacheKind : std::uint8_t { aot_autograd, fx_graph, precompile };
enum class CacheOutcome : std::uint8_t { hit, miss, bypass };
[[nodiscard]] std::string_view name_of(CacheKind kind);
[[nodiscard]] std::string_view name_of(CacheOutcome outcome);

struct CacheAsk {
  CacheKind kind = CacheKind::fx_graph;
  CacheOutcome outcome = CacheOutcome::miss;
  std::string key;
  std::string reason;                     // of a bypass
  std::int64_t saved_us = 0;              // by a hit, as torch says
  std::int64_t looked_us = 0;             // when, by the real-time clock; 0: not told
  std::int64_t taken_us = 0;              // after a miss, until the entry was made; likewise
  std::vector<std::uint32_t> components;  // of the key; ids of a ComponentTable
  Place place;
};

struct GraphBreak {
  std::string reason;  // its first line
  std::string where;   // "train.py:12"
  Place place;
  std::uint32_t stack = 0;  // of the user's code, in ProcessLog::code; 0: not told
};

// A size that was another one before: Dynamo made it dynamic.
struct DynamicChange {
  std::string source;     // "L['x']"
  std::int32_t dim = -1;  // -1: not a dimension but a number, or all that is known is the source
  std::string was, is;
  std::string reason;  // "size change"
  bool whole = true;   // else of the source's name only the beginning is here
};

// A size or number that Dynamo made a symbol of.
struct SizeSymbol {
  std::string symbol;  // "s77"
  std::string source;  // "L['x'].size()[0]"; empty: it depends on data
  std::string value;   // in the call that it was compiled for; likewise
  std::string range;   // "[2, int_oo]"
  bool operator==(const SizeSymbol&) const = default;
};

// A symbol that holds for one value only, because the code asked for it.
struct Specialised {
  std::string symbol, sources, value;
  std::string reason;       // a word of torch's: "range_refined_to_singleton"
  std::uint32_t stack = 0;  // of the user's code, in ProcessLog::code; 0: not told
  bool operator==(const Specialised&) const = default;
};

// What the code asked of a symbol; the compilation can be used only where it holds.
struct SizeGuard {
  std::string expression;   // "Eq(s77, 8)"
  std::uint32_t stack = 0;  // likewise
  bool operator==(const SizeGuard&) const = default;
};

struct Failure {
  std::string type, reason, where;
};

struct Compile {
  CompileId id;
  std::string name, file;  // of the Python function
  std::int64_t line = 0;
  std::uint64_t first_line = 0;  // in the log
  std::uint32_t stack = 0;       // the call that it is of, in the log's StackTrie; 0: not known
  Pass forward, backward;
  bool finished = false;  // its metrics are there
  std::int64_t guards = 0, ops = 0, inputs = 0;
  std::string graph;  // graph_digest.h, of the last one that Dynamo dumped; empty: none
  std::uint32_t float_guards = 0;  // guard_sources.h; with the fold's `sources` only
  std::int64_t compiler_runs = 0;  // of a C++ compiler
  Failure failure;
  std::vector<std::string> recompile_reasons;  // below each perhaps lines of the user's stack
  std::vector<std::string> restart_reasons;
  std::vector<GraphBreak> breaks;
  std::vector<CacheAsk> asks;
  std::vector<DynamicChange> changes;
  std::vector<SizeSymbol> symbols;
  std::vector<Specialised> specialised;
  std::vector<SizeGuard> size_guards;
  std::vector<Artifact> artifacts;

  [[nodiscard]] std::int64_t total_us() const { return forward.duration_us + backward.duration_us; }
  [[nodiscard]] bool is_recompile() const { return id.compile > 0 || !recompile_reasons.empty(); }
  // Every cache that was asked had it.
  [[nodiscard]] bool all_found() const;
  // As the hook in a trainer counts it (python/headway/_auto/compiles.py): inductor found all of
  // it, and no kernel had to be compiled.
  [[nodiscard]] bool is_warm() const;
};

inline constexpr std::size_t kCompilesMax = 200'000;   // of one process
inline constexpr std::size_t kPerCompileMax = 256;     // breaks, asks, changes, guards … of one
inline constexpr std::size_t kArtifactsMax = 1'000;    // of one
inline constexpr std::size_t kTextBytesMax = 2'000;    // of a reason
inline constexpr std::size_t kNameBytesMax = 500;      // of a name or path
inline constexpr std::size_t kSourceBytesMax = 2'000;  // of a source: one that is longer is cut
inline constexpr std::size_t kIgnoredKindsMax = 100;   // of one process
inline constexpr std::size_t kUsesMax = 100'000;       // of one process

// A tensor or number that a compiled function takes, changed or not.
struct SourceUse {
  std::string source;
  bool number = false;      // else a tensor
  std::int32_t frame = -1;  // the function's, as in CompileId
};

struct ProcessLog {
  std::string path;
  std::int32_t rank = -1;  // -1: not distributed
  std::uint64_t process = 0;
  std::string torch_version, python_version;
  std::vector<Compile> compiles;        // in the order in which they were begun
  std::vector<Artifact> artifacts;      // of no compilation
  StackTrie stacks;                     // that led to compilations
  StackTrie code;                       // of what breaks graphs and makes sizes special
  std::vector<AutotuneCost> autotune;   // the most expensive first
  std::vector<SourceUse> uses;          // with TraceReadOptions::sources
  std::vector<StateSource> code_state;  // the last one; likewise
  TraceCounts counts;
  // Records that nothing above is made of, by kind: those without a text, or whose JSON is not what
  // it should be. Beyond kIgnoredKindsMax kinds "other".
  std::map<std::string, std::uint64_t, std::less<>> ignored;
  std::uint64_t left_out = 0;  // compilations, breaks and so on beyond the maxima above
  std::uint64_t no_room = 0;   // and those for which all logs together had none (trace_room.h)
  bool has_all = true;         // else whole compilations were left out
};

}  // namespace headway::compile
