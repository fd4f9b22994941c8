#include "timeline/live_job.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "timeline/attempt_feed.h"
#include "timeline/attempt_sources.h"

namespace headway::timeline {
namespace {

constexpr const char* kSeveral = "\n";  // no journal is called that

}  // namespace

LiveJob::LiveJob(std::string job, std::shared_ptr<event::NameTable> names,
                 const LiveOptions& options)
    : job_(std::move(job)), names_(std::move(names)), wanted_(options) {
  HW_CHECK(names_ != nullptr);
  options_.use_steps = options.use_steps;
}

// The first event of a higher attempt ends the one before. False when the event is too late.
bool LiveJob::open_attempt(const event::StreamInfo& stream, std::int64_t first_ns) {
  if (state_ && stream.attempt == options_.id) return true;
  if (state_ && stream.attempt < options_.id) return false;
  if (state_) {
    AttemptResult before = state_->snapshot(std::nullopt, false);
    // The one before reached beyond this one's beginning: where to cut is known only to a reread.
    if (before.end_ns > first_ns) must_reread_ = true;
    options_.floor_ns = before.end_ns;
    options_.high_water = before.high_water;
    closed_.push_back(std::move(before));
  }
  options_.id = stream.attempt;
  options_.recovery = !closed_.empty() && is_recovery_after(closed_.back());
  state_ = std::make_unique<AttemptState>(options_);
  index_.clear();
  origin_.clear();
  world_size_ = 0;
  return true;
}

// Ranks join in order and before the first step: where the world's size is known, all at once.
std::optional<std::size_t> LiveJob::index_of(const event::StreamInfo& stream) {
  if (const auto found = index_.find(stream.rank); found != index_.end()) return found->second;
  world_size_ = std::max(world_size_, stream.world_size);
  if (stream.rank >= ranks_max || state_->begun()) return std::nullopt;
  const bool in_order = index_.empty() || stream.rank > index_.rbegin()->first;
  if (!in_order) return std::nullopt;
  const std::uint32_t world = std::min(world_size_, ranks_max);
  const std::uint32_t first = index_.empty() && world > 0 ? 0 : stream.rank;
  const std::uint32_t last = std::max(stream.rank, world > 0 ? world - 1 : 0);
  for (std::uint32_t rank = first; rank <= last; ++rank) {
    index_[rank] = state_->add_rank(rank, "", wanted_.device_times);  // they say where they are
  }
  return index_.at(stream.rank);
}

void LiveJob::begin_again(const EarlierAttempts& earlier) {
  closed_ = earlier.attempts;
  index_.clear();
  origin_.clear();
  world_size_ = 0;
  options_ = earlier.next;
  state_.reset();
  if (earlier.next_streams.empty()) return;
  state_ = std::make_unique<AttemptState>(options_);
  const AttemptSources sources = open_sources(earlier.next_streams);
  world_size_ = sources.world_size;
  const bool device_times = any_device_times(earlier.next_streams) || wanted_.device_times;
  wanted_.device_times = device_times;
  std::map<std::uint32_t, std::string> hosts;
  const std::uint32_t world = std::min(world_size_, ranks_max);
  for (std::uint32_t rank = 0; rank < world; ++rank) hosts[rank];
  for (const RankSource& r : sources.ranks) hosts[r.rank] = r.host;
  for (const auto& [rank, host] : hosts) index_[rank] = state_->add_rank(rank, host, device_times);
  std::vector<std::size_t> indices;
  for (const RankSource& r : sources.ranks) {
    indices.push_back(index_.at(r.rank));
    // Of several journals of one rank none can go on alone.
    const auto& parts = r.source->parts();
    origin_[r.rank] = parts.size() == 1 ? parts.front()->info().origin : kSeveral;
  }
  feed(*state_, sources, indices, true);
}

void LiveJob::reread(const event::JobStreams& job) {
  for (const bool use_steps : {wanted_.use_steps, true}) {
    const EarlierAttempts earlier = attribute_earlier(job, use_steps);
    begin_again(earlier);
    const bool missing = earlier.missing_data || (state_ && state_->missing_data());
    wanted_.use_steps = use_steps || missing;
    if (!missing || use_steps) break;
  }
  must_reread_ = state_ && state_->stale();
}

void LiveJob::consume(const event::StreamInfo& stream, std::span<const event::Event> events) {
  if (events.empty() || must_reread_) return;
  if (!open_attempt(stream, events.front().t_ns)) {
    must_reread_ = true;
    return;
  }
  if (stream.rank == event::kAgentRank) {
    world_size_ = std::max(world_size_, stream.world_size);
    for (const event::Event& e : events) state_->consume_agent(e);
  } else {
    const std::optional<std::size_t> index = index_of(stream);
    const auto [origin, fresh] = origin_.try_emplace(stream.rank, stream.origin);
    if (!index || origin->second != stream.origin) {
      must_reread_ = true;
      return;
    }
    if (fresh) state_->set_host(*index, stream.host);
    for (const event::Event& e : events) {
      if (e.type == event::EventType::device_done && !wanted_.device_times) {
        wanted_.device_times = must_reread_ = true;
      }
    }
    while (!events.empty()) {
      events = events.subspan(state_->consume(*index, events, AttemptState::waiting_steps_max));
      state_->combine();
    }
    if (state_->missing_data() && !wanted_.use_steps) wanted_.use_steps = must_reread_ = true;
  }
  if (state_->stale()) must_reread_ = true;
}

JobResult LiveJob::snapshot(std::optional<std::int64_t> now_ns) const {
  std::vector<AttemptResult> attempts = closed_;
  if (state_) {
    attempts.push_back(state_->snapshot(now_ns, true));
    attempts.back().ranks_expected = std::max(attempts.back().ranks_reporting, world_size_);
  }
  return join_attempts(job_, std::move(attempts), options_.use_steps, names_.get());
}

}  // namespace headway::timeline
