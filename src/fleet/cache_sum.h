// What compile caches were worth to many attempts. Those count that compiled at all: of any other
// nobody knows what a cache would have been worth to it. An attempt counts as a whole, on the day
// on which it began. Pure.
//
// Times are as torch noted them: `original` is what it took once to compile what was wholly found
// again, `spent` what finding it took. So what was saved is told too low rather than too high:
// compilations of which only a part was found are not in it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/wide.h"
#include "fleet/chunk.h"

namespace headway::fleet {

struct CacheSum {
  std::uint64_t attempts = 0;  // that compiled
  std::uint64_t asked = 0;     // of those: for archives of a cache that jobs share
  std::uint64_t unpacked = 0;  // and got some
  std::uint64_t told = 0;      // of those: their ranks said what they found
  std::uint64_t hits = 0, misses = 0, bypasses = 0;  // graphs
  base::Int128 original_ns = 0, spent_ns = 0;        // waited for
  base::Int128 saved_device_ns = 0;                  // the difference, times devices

  void add(const Chunk& chunk, std::uint32_t at);
  void add(const CacheSum& other);

  [[nodiscard]] std::optional<double> unpacked_pct() const;  // of the attempts
  [[nodiscard]] std::optional<double> hit_pct() const;       // of the graphs looked for
  [[nodiscard]] std::optional<double> coverage_pct() const;  // looked for, of all graphs
  // Below 0: finding took longer than compiling had. None: nobody told.
  [[nodiscard]] std::optional<base::Int128> saved_ns() const;
  bool operator==(const CacheSum&) const = default;
};

}  // namespace headway::fleet
