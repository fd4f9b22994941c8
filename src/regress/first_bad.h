// When a change began, finer than a day: from single observations around it. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "regress/observe.h"

namespace headway::regress {

struct FirstBad {
  std::int64_t t_ns = 0;                 // the first observation at the new level, most likely
  std::int64_t low_ns = 0, high_ns = 0;  // with 95%: after the observation at low, not after high
};

// `samples` of a log-normal component, in any order; levels are those of the days around it.
[[nodiscard]] std::optional<FirstBad> first_bad(std::span<const Sample> samples, double before,
                                                double after, double spread);

}  // namespace headway::regress
