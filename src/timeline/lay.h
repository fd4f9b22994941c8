// Laying segments over an interval, and which bucket a kind of activity falls into, by region.
#pragma once

#include <algorithm>
#include <cstdint>

#include "timeline/bucket.h"
#include "timeline/segment.h"

namespace headway::timeline {

// Calls f(kind, t0, t1) for every stretch of (from, to], in order and without gaps; what no segment
// covers is Kind::none.
template <typename F>
void lay(const Segment* begin, const Segment* end, std::int64_t from, std::int64_t to, F&& f) {
  std::int64_t at = from;
  for (const Segment* s = begin; s != end; ++s) {
    const std::int64_t a = std::max(s->t0_ns, at);
    const std::int64_t b = std::min(s->t1_ns, to);
    if (b <= a) continue;
    if (a > at) f(Kind::none, at, a);
    f(s->kind, a, b);
    at = b;
  }
  if (at < to) f(Kind::none, at, to);
}

[[nodiscard]] Bucket init_bucket(Kind kind);
// `train` is what plain work in the loop counts as: effective, replay or interrupted_step.
[[nodiscard]] Bucket loop_bucket(Kind kind, bool first_step, Bucket train);
[[nodiscard]] Bucket shutdown_bucket(Kind kind);

}  // namespace headway::timeline
