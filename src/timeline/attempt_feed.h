// An attempt's streams, pulled through its state: from whichever rank is behind, so that memory
// depends on how far ranks are apart and not on how long they ran. Pure but for its sources.
#pragma once

#include <cstddef>
#include <vector>

#include "event/stream.h"
#include "timeline/attempt_sources.h"
#include "timeline/attempt_state.h"

namespace headway::timeline {

// All that the sources have. `indices`: of the sources' ranks in the state, as many as they are.
// `live`: more may follow, so a rank that has said nothing of a step yet is still waited for.
void feed(AttemptState& state, const AttemptSources& sources,
          const std::vector<std::size_t>& indices, bool live);

[[nodiscard]] bool any_device_times(const std::vector<const event::Stream*>& streams);

}  // namespace headway::timeline
