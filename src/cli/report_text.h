// The report as a person reads it: about forty lines, the most important first. Pure: a report and
// a style in, text out. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/advice.h"
#include "cli/style.h"
#include "metrics/job_state.h"
#include "metrics/report.h"

namespace headway::cli {

using metrics::JobState;  // how the job stands, which a window's report alone does not say

struct TextOptions {
  Style style;
  JobState state = JobState::clean;
  std::string found;  // how the job was chosen, when nobody named it
  bool windowed = false;
  std::int64_t job_wall_ns = 0;     // of the whole job
  std::optional<SaveAdvice> saves;  // how often to save, where the report's advice needs it
};

// "3"; of a job that was run several times "2.3": the third launch of the second run.
[[nodiscard]] std::string attempt_label(std::int64_t id, const metrics::Report& report);

[[nodiscard]] std::string to_text(const metrics::Report& report, const TextOptions& options);

}  // namespace headway::cli
