#include "timeline/lane.h"

#include <algorithm>

#include "base/wide.h"

namespace headway::timeline {

LaneBuilder::LaneBuilder(const LaneWindow& window) : window_(window) {
  window_.to_ns = std::max(window_.to_ns, window_.from_ns);
  window_.slices = std::clamp(window_.slices, 1u, LaneWindow::slices_max);
}

std::int64_t LaneBuilder::edge(std::size_t slice) const {
  return window_.from_ns +
         static_cast<std::int64_t>(base::Int128(window_.to_ns - window_.from_ns) *
                                   base::Int128(slice) / base::Int128(window_.slices));
}

void LaneBuilder::spread(const LaneSegment& segment) {
  const std::int64_t length_ns = window_.to_ns - window_.from_ns;
  auto slice = static_cast<std::size_t>(base::Int128(segment.t0_ns - window_.from_ns) *
                                        base::Int128(window_.slices) / base::Int128(length_ns));
  // The division rounds down, and so does edge(): one step may be missing.
  while (slice + 1 < window_.slices && edge(slice + 1) <= segment.t0_ns) ++slice;
  for (std::int64_t t = segment.t0_ns; t < segment.t1_ns && slice < window_.slices; ++slice) {
    const std::int64_t end = std::min(segment.t1_ns, edge(slice + 1));
    if (end <= t) continue;
    bins_[slice].ns[index(segment.bucket)] += end - t;
    t = end;
  }
}

void LaneBuilder::add(std::int64_t t0_ns, std::int64_t t1_ns, Bucket bucket) {
  t0_ns = std::max(t0_ns, window_.from_ns);
  t1_ns = std::min(t1_ns, window_.to_ns);
  if (t1_ns <= t0_ns) return;
  if (!bins_.empty()) return spread({t0_ns, t1_ns, bucket});
  if (!segments_.empty() && segments_.back().bucket == bucket && segments_.back().t1_ns == t0_ns) {
    segments_.back().t1_ns = t1_ns;
    return;
  }
  segments_.push_back({t0_ns, t1_ns, bucket});
  if (segments_.size() <= std::max(window_.slices, window_.exact_max)) return;
  bins_.resize(window_.slices);
  for (const LaneSegment& segment : segments_) spread(segment);
  segments_.clear();
}

Lane LaneBuilder::finish() {
  Lane out;
  out.exact = bins_.empty();
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Slice& slice = bins_[i];
    const auto most = std::max_element(std::begin(slice.ns), std::end(slice.ns));
    if (*most == 0) continue;
    const auto bucket = static_cast<Bucket>(most - std::begin(slice.ns));
    const LaneSegment next{edge(i), edge(i + 1), bucket};
    if (!segments_.empty() && segments_.back().bucket == bucket &&
        segments_.back().t1_ns == next.t0_ns) {
      segments_.back().t1_ns = next.t1_ns;
    } else {
      segments_.push_back(next);
    }
  }
  out.segments = std::move(segments_);
  return out;
}

Lane ledger_lane(const Ledger& ledger, const LaneWindow& window) {
  LaneBuilder builder(window);
  bool ordered = true;
  for (const Piece& piece : ledger.pieces()) {
    if (piece.t1_ns <= builder.window().from_ns || builder.is_past(piece.t0_ns)) continue;
    std::int64_t t = piece.t0_ns;
    if (piece.stretches.cover(piece.t1_ns - piece.t0_ns)) {
      for (std::size_t i = 0; i < piece.stretches.size(); ++i) {
        builder.add(t, t + piece.stretches.ns(i), piece.stretches.bucket(i));
        t += piece.stretches.ns(i);
      }
      continue;
    }
    // A folded run of steps: how much of each, but not when.
    ordered = ordered && std::ranges::count_if(piece.sums.ns, [](auto ns) { return ns != 0; }) < 2;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      builder.add(t, t + piece.sums.ns[i], static_cast<Bucket>(i));
      t += piece.sums.ns[i];
    }
  }
  Lane lane = builder.finish();
  lane.exact = lane.exact && ordered;
  return lane;
}

}  // namespace headway::timeline
