// A job's timeline → the facts of its attempts. Pure: the same timeline gives the same facts, and
// the slices of all attempts sum to the job's partition.
#pragma once

#include <vector>

#include "event/event.h"
#include "fleet/fact.h"
#include "timeline/job.h"

namespace headway::fleet {

[[nodiscard]] std::vector<AttemptFacts> facts_of(const timeline::JobResult& job,
                                                 const event::NameTable& names);

}  // namespace headway::fleet
