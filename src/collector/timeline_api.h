// A job's time as rows to be drawn: each attempt's own, and its ranks', for a window and in no more
// detail than can be seen (docs/serve.md).
#pragma once

#include <cstdint>
#include <string>

#include "collector/jobs.h"
#include "net/http_server.h"
#include "store/store.h"
#include "timeline/lane.h"

namespace headway::collector {

struct TimelineQuestion {
  std::optional<std::int64_t> from_ns, to_ns;  // none: from the job's beginning, to its end
  std::uint32_t slices = 1500;
};

inline constexpr std::uint32_t timeline_ranks_max = 64;  // rows of an attempt
inline constexpr std::uint32_t timeline_attempts_max = 200;
inline constexpr std::uint64_t timeline_records_max = 50'000'000;  // read for one answer

[[nodiscard]] net::ServerAnswer job_timeline(store::Store& store, Jobs& jobs,
                                             const std::string& tenant, const std::string& job,
                                             const TimelineQuestion& question, std::int64_t now_ns);

}  // namespace headway::collector
