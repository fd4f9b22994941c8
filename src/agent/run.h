// `headway run`: a job from its command line to its exit code. Attempts follow one another until
// one ends well, somebody stops it or no restart is left. Call once in a process, from the main
// thread, before any other thread exists.
#pragma once

#include "agent/options.h"

namespace headway::agent {

// `began_monotonic_ns`: when the process began its work; the job's first instant.
int run_job(const RunOptions& options, std::int64_t began_monotonic_ns);

}  // namespace headway::agent
