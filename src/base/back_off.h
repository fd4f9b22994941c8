// Decorrelated jitter: each wait is drawn between the shortest and three times the last one, never
// above the longest. Those who lost one server together do not come back together. Pure;
// the same seed gives the same waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace headway::base {

class BackOff {
 public:
  BackOff(std::int64_t shortest_ns, std::int64_t longest_ns, std::uint64_t seed)
      : shortest_ns_(shortest_ns), longest_ns_(longest_ns), last_ns_(shortest_ns), state_(seed) {
    HW_CHECK(shortest_ns > 0 && shortest_ns <= longest_ns);
  }

  void reset() { last_ns_ = shortest_ns_; }
  std::int64_t next_ns() {
    const auto span = static_cast<std::uint64_t>(3 * last_ns_ - shortest_ns_);
    last_ns_ = std::min(longest_ns_, shortest_ns_ + static_cast<std::int64_t>(random() % span));
    return last_ns_;
  }
  // Between a half of it and all, for what is not to be tried any sooner by being tried again.
  std::int64_t spread_ns(std::int64_t wait_ns) {
    HW_CHECK(wait_ns > 0);
    const std::int64_t half_ns = wait_ns / 2;
    return wait_ns - half_ns +
           static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(half_ns) + 1));
  }

 private:
  std::uint64_t random() {  // splitmix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

  std::int64_t shortest_ns_;
  std::int64_t longest_ns_;
  std::int64_t last_ns_;
  std::uint64_t state_;
};

}  // namespace headway::base
