#include "timeline/attempt_feed.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "timeline/attempt.h"

namespace headway::timeline {
namespace {

constexpr std::size_t kPullSteps = 64;  // queued steps that one pull aims at

class RankFeed {
 public:
  RankFeed(MergedSource* source, std::size_t index, bool live)
      : source_(source), index_(index), live_(live) {}

  // Reads on if the rank is nearly out of queued steps. True when it did.
  bool pull(AttemptState& state) {
    if (over_ || state.queued(index_) >= 2) return false;
    take(state, kPullSteps);
    return true;
  }
  // What waits for others, in the queue: as far as a state waits. True when there may be more.
  bool pull_ahead(AttemptState& state) {
    if (over_) return false;
    take(state, AttemptState::waiting_steps_max);
    return true;
  }

 private:
  void take(AttemptState& state, std::size_t queued_max) {
    while (!over_ && state.queued(index_) < queued_max) {
      if (batch_.empty()) batch_ = source_->next();
      if (batch_.empty()) {
        over_ = true;
        if (!live_) state.drain(index_);
        return;
      }
      batch_ = batch_.subspan(state.consume(index_, batch_, queued_max));
    }
  }

  MergedSource* source_;
  std::size_t index_;
  bool live_;
  bool over_ = false;
  std::span<const event::Event> batch_;  // what is left of it
};

}  // namespace

void feed(AttemptState& state, const AttemptSources& sources,
          const std::vector<std::size_t>& indices, bool live) {
  HW_CHECK(indices.size() == sources.ranks.size());
  for (const auto& agent : sources.agents) {
    for (auto batch = agent->next(); !batch.empty(); batch = agent->next()) {
      for (const event::Event& e : batch) state.consume_agent(e);
    }
  }
  std::vector<RankFeed> feeds;
  for (std::size_t i = 0; i < sources.ranks.size(); ++i) {
    feeds.emplace_back(sources.ranks[i].source.get(), indices[i], live);
  }
  for (bool more = true; more;) {
    more = false;
    for (RankFeed& each : feeds) more |= each.pull(state);
    state.combine();
  }
  for (bool more = live; more;) {
    more = false;
    for (RankFeed& each : feeds) more |= each.pull_ahead(state);
    state.combine();
  }
}

bool any_device_times(const std::vector<const event::Stream*>& streams) {
  return std::ranges::any_of(streams, [](const event::Stream* stream) {
    return stream->info.rank != event::kAgentRank && prescan(*stream).device_times;
  });
}

}  // namespace headway::timeline
