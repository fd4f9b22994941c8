// The order in which the lines of one (attempt, rank) are told. Lines come from files in any order,
// and nothing of that order may show in a report: sorting is by time, then by content, and events
// of one instant are put into the order in which they can have happened. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "event/event.h"

namespace headway::interchange {

// Sorts `events`, drops identical ones, orders those of equal time:
//   attributes, start marks, ends of what was open, step_end of what was open, device_done, steps
//   without length, checkpoints, restores, spans without length, steps that stay open, spans that
//   stay open (the one that ends last is the outermost), hang, preempt_notice, failure, exit,
//   job_end
// and gives a step_end without `data` that of its step. Returns how many were dropped.
std::uint64_t put_in_order(std::vector<event::Event>& events, const event::NameTable& names);

}  // namespace headway::interchange
