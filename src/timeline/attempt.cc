// Attributes an attempt from its streams: pulls from whichever rank is behind, so that memory
// depends on how far ranks are apart and not on how long they ran.
#include "timeline/attempt.h"

#include <algorithm>

#include "timeline/attempt_sources.h"
#include "timeline/attempt_state.h"

namespace headway::timeline {
namespace {

constexpr std::size_t kPullSteps = 64;  // queued steps that one pull aims at

class RankFeed {
 public:
  RankFeed(MergedSource* source, std::size_t index) : source_(source), index_(index) {}

  // Reads on if the rank is nearly out of queued steps. True when it did.
  bool pull(AttemptState& state) {
    if (state.drained(index_) || state.queued(index_) >= 2) return false;
    while (state.queued(index_) < kPullSteps) {
      if (batch_.empty()) batch_ = source_->next();
      if (batch_.empty()) {
        state.drain(index_);
        break;
      }
      batch_ = batch_.subspan(state.consume(index_, batch_, kPullSteps));
    }
    return true;
  }

 private:
  MergedSource* source_;
  std::size_t index_;
  std::span<const event::Event> batch_;  // what is left of it
};

}  // namespace

AttemptResult attribute_attempt(const std::vector<const event::Stream*>& streams,
                                const AttemptOptions& options) {
  bool device_times = false;
  for (const event::Stream* stream : streams) {
    if (stream->info.rank != event::kAgentRank) device_times |= prescan(*stream).device_times;
  }
  const AttemptSources sources = open_sources(streams);
  AttemptState state(options);
  for (const auto& agent : sources.agents) {
    for (auto batch = agent->next(); !batch.empty(); batch = agent->next()) {
      for (const event::Event& e : batch) state.consume_agent(e);
    }
  }
  std::vector<RankFeed> feeds;
  for (const RankSource& r : sources.ranks) {
    feeds.emplace_back(r.source.get(), state.add_rank(r.rank, r.host, device_times));
  }
  for (bool more = true; more;) {
    more = false;
    for (RankFeed& feed : feeds) more |= feed.pull(state);
    state.combine();
  }
  AttemptResult out = state.finish();
  out.ranks_expected = std::max(out.ranks_reporting, sources.world_size);
  for (const RankSource& r : sources.ranks) {
    for (const auto& part : r.source->parts()) out.streams.push_back({part->info(), part->loss()});
  }
  for (const auto& agent : sources.agents) out.streams.push_back({agent->info(), agent->loss()});
  return out;
}

}  // namespace headway::timeline
