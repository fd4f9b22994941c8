// Two jobs side by side as a person reads them: a bar for each on one scale, then a table with how
// many times less or more. Pure: reports and a style in, text out. Any thread.
#pragma once

#include <string>

#include "cli/report_text.h"
#include "metrics/comparison.h"
#include "metrics/report.h"

namespace headway::cli {

struct Shown {
  const metrics::Report& report;
  const TextOptions& options;
};

// In the style of `job`. The other job, which is the measure, stands left.
[[nodiscard]] std::string to_text(const metrics::Comparison& comparison, const Shown& job,
                                  const Shown& against);

}  // namespace headway::cli
