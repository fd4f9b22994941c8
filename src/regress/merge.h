// One cause is seen in many series: which findings are the same. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "regress/component.h"

namespace headway::regress {

struct Mergeable {
  Component component;
  std::size_t stratum = 0;
  std::int32_t began_day = 0, low_day = 0, high_day = 0;
  std::string cause;  // what separates before from after best: "torch=2.9"; "": nothing does
  std::string key;    // of the known regression that it belongs to; "": new
};

// They may have begun together (at most `near_days` apart, and as far as their doubts overlap) and
// are of one bucket or category in whatever stratum, or of one stratum with the same cause.
[[nodiscard]] bool may_be_one(const Mergeable& a, const Mergeable& b, std::int32_t near_days);

// Groups of indices of what may be one, directly or by others. Findings of two different known keys
// stay apart. Groups are in the order of their first member, members in that of `items`.
[[nodiscard]] std::vector<std::vector<std::size_t>> merge(std::span<const Mergeable> items,
                                                          std::int32_t near_days);

}  // namespace headway::regress
