// What a recorded job says of how often jobs like it fail. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interval/rate.h"
#include "timeline/job.h"

namespace headway::interval {

// How much the failure that ended attempt `index` took with it, as far as the records tell: the
// machine, if the attempt never got to say how it ended, was preempted, or the next one runs
// elsewhere; else the process.
[[nodiscard]] Tier tier_of_failure(const timeline::JobResult& job, std::size_t index);

// Whether attempt `index` was cut off. One that ended well, was stopped or got notice of its
// preemption was not: it saved on its way out. The last one may still be running; `over`: it is
// not, and then it was cut off if it never got to say how it ended.
[[nodiscard]] bool was_cut_off(const timeline::JobResult& job, std::size_t index, bool over);

// Failures that cut off attempts in their loop, and the time of all of them in it. `before`: only
// attempts with a lower id.
[[nodiscard]] History history_of(const timeline::JobResult& job, std::int64_t before = INT64_MAX);

}  // namespace headway::interval
