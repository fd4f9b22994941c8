// Which tier an attempt went on from, in the words of whoever restored it. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "event/event.h"
#include "timeline/attempt.h"

namespace headway::metrics {

// Ranks of one attempt come back from different places when a machine was replaced: the farthest of
// them is what it took. Words of a script's own are left as they are. Empty: it restored nothing,
// or did not say from where.
[[nodiscard]] std::string restored_tier(const timeline::AttemptResult& attempt,
                                        const event::NameTable& names);

// State in a machine's memory, its own or another's: it outlived the process that was lost.
[[nodiscard]] bool is_memory(std::string_view tier);

}  // namespace headway::metrics
