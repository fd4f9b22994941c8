#include "timeline/segment.h"

#include "base/check.h"

namespace headway::timeline {

std::size_t SegmentList::push_many(const Segment& s) {
  if (!many_) {
    many_ = std::make_unique<std::vector<Segment>>(few_.begin(), few_.begin() + size_);
    size_ = 0;
  }
  std::vector<Segment>& list = *many_;
  if (!list.empty() && list.back().kind == s.kind && list.back().t1_ns == s.t0_ns) {
    list.back().t1_ns = s.t1_ns;
    return 0;
  }
  list.push_back(s);
  if (list.size() <= segments_max) return 0;
  // Two by two: the longer of a pair names the span of both.
  std::size_t out = 0;
  for (std::size_t i = 0; i < list.size(); i += 2) {
    Segment merged = list[i];
    if (i + 1 < list.size()) {
      const Segment& second = list[i + 1];
      if (second.t1_ns - second.t0_ns > merged.t1_ns - merged.t0_ns) merged.kind = second.kind;
      merged.t1_ns = second.t1_ns;
    }
    list[out++] = merged;
  }
  const std::size_t gone = list.size() - out;
  list.resize(out);
  HW_CHECK(list.size() <= segments_max);
  return gone;
}

}  // namespace headway::timeline
