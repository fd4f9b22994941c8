// Adding where the numbers are somebody else's: sums of durations that garbage input can make
// arbitrarily large stop at the ends of the type instead of wrapping. Any thread.
#pragma once

#include <cstdint>
#include <limits>

namespace headway::base {

[[nodiscard]] constexpr std::int64_t add_saturated(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

}  // namespace headway::base
