// `headway run` on one of several machines: starts and stops its ranks as the job's coordinator
// says, whose place is on one of them. docs/nodes.md. Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/nodes.h"
#include "agent/options.h"

namespace headway::agent {

int run_node(const RunOptions& options, const NodePlan& plan, Environment environment,
             std::vector<std::string> argv, std::int64_t began_monotonic_ns);

}  // namespace headway::agent
