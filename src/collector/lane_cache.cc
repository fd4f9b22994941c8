#include "collector/lane_cache.h"

#include <algorithm>
#include <utility>

namespace headway::collector {

using timeline::Lane;
using timeline::LaneBuilder;
using timeline::LaneSegment;
using timeline::LaneWindow;

bool KeptLane::tells(const LaneWindow& asked, const LaneBasis& now) const {
  if (asked.from_ns < window.from_ns || asked.to_ns > window.to_ns) return false;
  LaneBasis same = now;
  if (asked.to_ns <= settled_ns) same.slots = basis.slots;  // it has only gone on
  if (!(same == basis)) return false;
  if (lane.exact) return true;
  const auto slice_ns = [](const LaneWindow& of) {
    return static_cast<double>(of.to_ns - of.from_ns) / of.slices;
  };
  return slice_ns(asked) >= slice_ns(window) || asked == window;
}

Lane KeptLane::cut(const LaneWindow& asked) const {
  LaneBuilder builder(asked);
  const auto first =
      std::ranges::upper_bound(lane.segments, asked.from_ns, {}, &LaneSegment::t1_ns);
  for (auto each = first; each != lane.segments.end() && !builder.is_past(each->t0_ns); ++each) {
    builder.add(each->t0_ns, each->t1_ns, each->bucket);
  }
  Lane out = builder.finish();
  out.exact = out.exact && lane.exact;
  return out;
}

std::size_t KeptLane::bytes() const {
  return sizeof(KeptLane) + lane.segments.capacity() * sizeof(LaneSegment) +
         saves.capacity() * sizeof(Save);
}

std::shared_ptr<const KeptLane> LaneCache::find(const LaneKey& key, const LaneWindow& asked,
                                                const LaneBasis& now) {
  const std::lock_guard lock(mutex_);
  const auto own = entries_.find(key);
  if (own == entries_.end()) return nullptr;
  const auto found = std::ranges::find_if(
      own->second, [&](const Entry& entry) { return entry.lane->tells(asked, now); });
  if (found == own->second.end()) return nullptr;
  found->used = ++uses_;
  return found->lane;
}

void LaneCache::keep(const LaneKey& key, std::shared_ptr<const KeptLane> lane) {
  const std::lock_guard lock(mutex_);
  std::vector<Entry>& own = entries_[key];
  // A newer reading of the same takes the place of the older one.
  std::erase_if(own, [&](const Entry& entry) {
    const bool same = entry.lane->window.from_ns == lane->window.from_ns &&
                      entry.lane->window.slices == lane->window.slices &&
                      entry.lane->window.to_ns <= lane->window.to_ns;
    if (same) bytes_ -= entry.lane->bytes();
    return same;
  });
  if (own.size() >= options_.lanes_of_a_rank_max) {
    const auto oldest = std::ranges::min_element(own, {}, &Entry::used);
    bytes_ -= oldest->lane->bytes();
    own.erase(oldest);
  }
  bytes_ += lane->bytes();
  own.push_back({std::move(lane), ++uses_});
  while (bytes_ > options_.bytes_max && !entries_.empty()) forget_oldest();
}

void LaneCache::forget_oldest() {
  auto found = entries_.begin();
  std::uint64_t oldest = UINT64_MAX;
  for (auto each = entries_.begin(); each != entries_.end(); ++each) {
    for (const Entry& entry : each->second) {
      if (entry.used >= oldest) continue;
      oldest = entry.used;
      found = each;
    }
  }
  std::erase_if(found->second, [&](const Entry& entry) {
    if (entry.used != oldest) return false;
    bytes_ -= entry.lane->bytes();
    return true;
  });
  if (found->second.empty()) entries_.erase(found);
}

std::size_t LaneCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace headway::collector
