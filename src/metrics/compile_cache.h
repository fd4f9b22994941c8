// What compile caches were worth to a job: what its attempts noted as attributes, every rank of
// what it found ("compile_cache.RANK", python/headway/_auto/cache_use.py) and every machine's
// launcher of what it unpacked ("compile_cache_pulled", of one of several ".NODE" behind it). Pure.
//
// Graphs and runs of the compiler are sums over ranks: each of them compiles for itself. Times are
// not: ranks compile side by side, so of an attempt the rank that compiles longest counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "event/event.h"
#include "metrics/cache_misses.h"
#include "timeline/job.h"

namespace headway::metrics {

struct CompileCache {
  static constexpr std::size_t missed_max = 100;

  std::uint64_t hits = 0, misses = 0;  // graphs looked for
  std::uint64_t bypasses = 0;          // graphs that torch does not keep
  std::uint64_t builds = 0;            // runs of the C++ compiler
  std::int64_t original_ns = 0;        // what took so long once was wholly found
  std::int64_t spent_ns = 0;           // on the same, now
  std::uint64_t pulls = 0;             // launchers that asked for what is shared, whatever they got
  std::uint64_t pulled_archives = 0, pulled_files = 0, pulled_bytes = 0;
  std::int64_t pull_ns = 0;
  std::uint64_t ranks = 0;                  // that told, in any attempt
  std::optional<std::uint32_t> worst_rank;  // the one with most misses, where not all have as many
  std::uint64_t worst_misses = 0;           // its
  std::vector<MissedRow> missed;            // the newest attempt's first, so many at most
  std::uint64_t missed_left_out = 0;        // beyond those: of older attempts for the most part

  [[nodiscard]] std::optional<double> hit_pct() const;       // of those looked for
  [[nodiscard]] std::optional<double> coverage_pct() const;  // looked for, of all
  [[nodiscard]] std::int64_t saved_ns() const;
};

// None: no attempt noted anything.
[[nodiscard]] std::optional<CompileCache> compile_cache_of(const timeline::JobResult& job,
                                                           const event::NameTable& names);
// Of one attempt.
[[nodiscard]] std::optional<CompileCache> compile_cache_of(const timeline::AttemptResult& attempt,
                                                           const event::NameTable& names);

// A note's key and text, of one attempt. What is not known or not a number is passed over. Attempts
// of `missed` are numbered from 0.
using CacheNote = std::pair<std::string_view, std::string_view>;
[[nodiscard]] std::optional<CompileCache> compile_cache_of(
    const std::vector<std::vector<CacheNote>>& attempts);

}  // namespace headway::metrics
