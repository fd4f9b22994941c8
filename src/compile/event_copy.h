// The events of a log as a file that Perfetto and chrome://tracing open: torch dumps each one as a
// payload of its own. In bounded memory; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::compile {

// A JSON list, piece by piece; what is no JSON object is left out. False from `sink` stops it. The
// number of events.
base::Result<std::uint64_t> copy_events(const std::string& path,
                                        const std::function<bool(std::string_view)>& sink);

}  // namespace headway::compile
