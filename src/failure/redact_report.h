// Takes secrets out of a report. Pure.
#pragma once

#include "metrics/report.h"

namespace headway::failure {

// Every text that somebody other than us has written. The names of the job, of hosts and of files
// stay: they say where to look.
void redact(metrics::Report& report);

}  // namespace headway::failure
