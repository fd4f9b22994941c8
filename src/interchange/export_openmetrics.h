// A report as OpenMetrics text, for a file that a Prometheus agent collects. Counters are seconds;
// labels are the job and the closed vocabularies of buckets and kinds, nothing of the user's. Pure.
#pragma once

#include <string>

#include "metrics/report.h"

namespace headway::interchange {

[[nodiscard]] std::string to_openmetrics(const metrics::Report& report);

}  // namespace headway::interchange
