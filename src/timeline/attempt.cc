#include "timeline/attempt.h"

#include <algorithm>

#include "timeline/attempt_feed.h"
#include "timeline/attempt_sources.h"
#include "timeline/attempt_state.h"

namespace headway::timeline {

AttemptResult attribute_attempt(const std::vector<const event::Stream*>& streams,
                                const AttemptOptions& options) {
  const bool device_times = any_device_times(streams);
  const AttemptSources sources = open_sources(streams);
  AttemptState state(options);
  std::vector<std::size_t> indices;
  for (const RankSource& r : sources.ranks) {
    indices.push_back(state.add_rank(r.rank, r.host, device_times));
  }
  feed(state, sources, indices, false);
  AttemptResult out = state.finish();
  out.ranks_expected = std::max(out.ranks_reporting, sources.world_size);
  for (const RankSource& r : sources.ranks) {
    for (const auto& part : r.source->parts()) out.streams.push_back({part->info(), part->loss()});
  }
  for (const auto& agent : sources.agents) out.streams.push_back({agent->info(), agent->loss()});
  return out;
}

}  // namespace headway::timeline
