// A job's time as rows to be drawn: each attempt's own, and its ranks', for a window and in no more
// detail than can be seen (docs/serve.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/jobs.h"
#include "collector/lane_cache.h"
#include "collector/rank_rows.h"
#include "net/http_server.h"
#include "store/store.h"
#include "timeline/lane.h"

namespace headway::collector {

struct TimelineQuestion {
  std::optional<std::int64_t> from_ns, to_ns;  // none: from the job's beginning, to its end
  std::uint32_t slices = 1500;
  std::vector<std::uint32_t> ranks;  // none: those that matter most (rank_choice.h)
};

inline constexpr std::uint32_t timeline_ranks_max = 64;  // rows of an attempt
inline constexpr std::uint32_t timeline_attempts_max = 200;

struct TimelineParts {
  store::Store& store;
  Jobs& jobs;
  LaneCache& lanes;
};

// What there was no time to read is left out, `complete` says so, and who asks again gets more.
[[nodiscard]] net::ServerAnswer job_timeline(const TimelineParts& parts, const std::string& tenant,
                                             const std::string& job,
                                             const TimelineQuestion& question, std::int64_t now_ns,
                                             const ReadLimits& limits = {});

}  // namespace headway::collector
