// The part of a job that `--window A..B` means. Pure; any thread.
//
//   0..60  90s..2h  1h30m..  10m..    from the job's begin
//   -1h..  -30m..-10m                 from its end (a running job's: from now)
//   2026-11-15T21:40:00Z..2026-11-15T22:00:00+02:00   absolute; without a zone it is UTC
//   1794778800000000000ns..           absolute, Unix nanoseconds
//
// Either end may be open: then it reaches as far as the job does, waiting for resources included.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "metrics/report.h"
#include "timeline/job.h"

namespace headway::cli {

// One end, before the job is known.
struct WindowEnd {
  enum class From : std::uint8_t { open, begin, end, epoch };
  From from = From::open;
  std::int64_t ns = 0;  // from there
};

struct WindowText {
  WindowEnd a;
  WindowEnd b;
};

base::Result<WindowText> parse_window(std::string_view text);

// Half open, [from, to); an open end takes in the job's last instant. Error: A is not before B.
base::Result<metrics::Window> resolve_window(const WindowText& window,
                                             const timeline::JobResult& job);

}  // namespace headway::cli
