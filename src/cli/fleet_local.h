// `headway fleet` on one machine: every job below a folder attributed by threads of this process,
// and added up.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "cli/fleet_summary.h"
#include "fleet/fact.h"

namespace headway::cli {

// `journals`: <folder>/<job>/<attempt>/*.hwj. What cannot be read is a note, not an error.
[[nodiscard]] base::Result<FleetSummary> attribute_fleet(const std::string& journals,
                                                         fleet::Dimension by, std::size_t threads);

}  // namespace headway::cli
