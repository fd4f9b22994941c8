// From a job's streams to what is shown of it: the report of the whole or of a window, and how the
// job stands. No secret that a command line or an exception's message holds is in it. Pure but for
// reading the streams: `now` is an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "cli/report_text.h"
#include "cli/report_window.h"
#include "event/stream.h"
#include "metrics/report.h"

namespace headway::cli {

struct View {
  metrics::Report report;
  JobState state = JobState::clean;
  bool windowed = false;
  std::int64_t job_wall_ns = 0;
  std::optional<SaveAdvice> saves;  // of the whole job, where its advice needs it
};

// `now_ns` is set when the job is alive. `advise`: its text will be shown, with advice.
base::Result<View> view_job(const event::JobStreams& streams,
                            const std::optional<WindowText>& window,
                            std::optional<std::int64_t> now_ns, bool advise = false);

}  // namespace headway::cli
