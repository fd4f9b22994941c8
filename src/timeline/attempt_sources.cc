#include "timeline/attempt_sources.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"
#include "timeline/attempt.h"

namespace headway::timeline {
namespace {

constexpr std::size_t kMergeBatch = 1024;
constexpr std::size_t kPrescanEvents = 4096;

}  // namespace

MergedSource::MergedSource(std::vector<std::unique_ptr<event::EventSource>> parts)
    : parts_(std::move(parts)), heads_(parts_.size()) {
  HW_CHECK(!parts_.empty());
}

std::span<const event::Event> MergedSource::next() {
  if (parts_.size() == 1) return parts_.front()->next();
  batch_.clear();
  while (batch_.size() < kMergeBatch) {
    std::size_t best = parts_.size();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (heads_[i].empty()) heads_[i] = parts_[i]->next();
      if (heads_[i].empty()) continue;
      if (best == parts_.size() || heads_[i].front().t_ns < heads_[best].front().t_ns) best = i;
    }
    if (best == parts_.size()) break;
    batch_.push_back(heads_[best].front());
    heads_[best] = heads_[best].subspan(1);
  }
  return batch_;
}

AttemptSources open_sources(std::vector<const event::Stream*> streams) {
  std::stable_sort(
      streams.begin(), streams.end(), [](const event::Stream* a, const event::Stream* b) {
        return std::tie(a->info.rank, a->info.origin) < std::tie(b->info.rank, b->info.origin);
      });
  AttemptSources out;
  std::map<std::uint32_t, std::vector<std::unique_ptr<event::EventSource>>> by_rank;
  for (const event::Stream* stream : streams) {
    std::unique_ptr<event::EventSource> source = stream->open();
    if (!source) {
      ++out.unopened;
      continue;
    }
    out.world_size = std::max(out.world_size, stream->info.world_size);
    if (stream->info.rank == event::kAgentRank) {
      out.agents.push_back(std::move(source));
    } else {
      by_rank[stream->info.rank].push_back(std::move(source));
    }
  }
  for (auto& [rank, parts] : by_rank) {
    RankSource r;
    r.rank = rank;
    r.host = parts.front()->info().host;
    r.source = std::make_unique<MergedSource>(std::move(parts));
    out.ranks.push_back(std::move(r));
  }
  return out;
}

Prescan prescan(const event::Stream& stream) {
  Prescan out;
  const std::unique_ptr<event::EventSource> source = stream.open();
  if (!source) return out;
  const auto first = [](std::optional<std::int64_t>& slot, std::int64_t t) {
    slot = slot ? std::min(*slot, t) : t;
  };
  for (std::size_t seen = 0; seen < kPrescanEvents;) {
    const std::span<const event::Event> batch = source->next();
    if (batch.empty()) break;
    seen += batch.size();
    for (const event::Event& e : batch) {
      if (e.type == event::EventType::attr) continue;
      if (e.type == event::EventType::device_done) out.device_times = true;
      const bool mark = e.type == event::EventType::mark;
      if (mark && e.name == HW_MARK_LAUNCHER_START) first(out.launcher_start_ns, e.t_ns);
      if (mark && e.name <= HW_MARK_ALLOCATED) continue;
      first(out.first_trainer_event_ns, e.t_ns);
    }
  }
  return out;
}

}  // namespace headway::timeline
