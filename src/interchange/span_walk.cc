#include "interchange/span_walk.h"

#include <algorithm>

namespace headway::interchange {

using event::Event;
using event::EventType;

void SpanWalk::take(const Event& e) {
  last_ns_ = std::max(last_ns_, e.t_ns);
  switch (e.type) {
    case EventType::begin: {
      auto& open = spans_[e.lane];
      if (open.size() == open_max) {
        // Garbage that only opens: the oldest is told as far as it is known.
        sink_.on_span({.phase = open.front().phase,
                       .lane = e.lane,
                       .begin_ns = open.front().begin_ns,
                       .end_ns = std::max(open.front().begin_ns, e.t_ns),
                       .open = true});
        open.erase(open.begin());
      }
      open.push_back({e.name, e.t_ns});
      return;
    }
    case EventType::end:
      return end_span(e);
    case EventType::step:
      if (steps_.size() == open_max) {
        steps_.front().end_ns = std::max(steps_.front().begin_ns, e.t_ns);
        steps_.front().open = true;
        sink_.on_step(steps_.front());
        steps_.erase(steps_.begin());
      }
      steps_.push_back({.step = e.a, .data = e.b, .lane = e.lane, .begin_ns = e.t_ns});
      return;
    case EventType::step_end:
      return end_step(e);
    default:
      return sink_.on_other(e);
  }
}

void SpanWalk::end_span(const Event& e) {
  auto& open = spans_[e.lane];
  const auto found =
      std::find_if(open.rbegin(), open.rend(), [&e](const Open& o) { return o.phase == e.name; });
  if (found == open.rend()) return;
  const auto at = std::prev(found.base());
  // Whatever lies inside must not stick out: it is told up to here and goes on as a new piece.
  for (auto inner = open.end(); std::prev(inner) != at; --inner) {
    Open& o = *std::prev(inner);
    if (e.t_ns > o.begin_ns) {
      sink_.on_span({.phase = o.phase,
                     .lane = e.lane,
                     .begin_ns = o.begin_ns,
                     .end_ns = e.t_ns,
                     .continued = true});
      o.begin_ns = e.t_ns;
    }
  }
  sink_.on_span({.phase = at->phase,
                 .lane = e.lane,
                 .begin_ns = at->begin_ns,
                 .end_ns = std::max(at->begin_ns, e.t_ns),
                 .warm = e.name == HW_PHASE_COMPILE && e.a == 1});
  open.erase(at);
}

void SpanWalk::end_step(const Event& e) {
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(),
                                  [&e](const StepPiece& s) { return s.step == e.a; });
  if (found == steps_.rend()) {
    // Only its end is known: a step without length.
    sink_.on_step({.step = e.a, .data = e.b, .lane = e.lane, .begin_ns = e.t_ns, .end_ns = e.t_ns});
    return;
  }
  StepPiece step = *found;
  steps_.erase(std::prev(found.base()));
  if (e.b != HW_NO_DATA) step.data = e.b;
  step.end_ns = std::max(step.begin_ns, e.t_ns);
  sink_.on_step(step);
}

void SpanWalk::finish() {
  for (auto& [lane, open] : spans_) {
    for (; !open.empty(); open.pop_back()) {
      sink_.on_span({.phase = open.back().phase,
                     .lane = lane,
                     .begin_ns = open.back().begin_ns,
                     .end_ns = std::max(open.back().begin_ns, last_ns_),
                     .open = true});
    }
  }
  for (StepPiece& step : steps_) {
    step.end_ns = std::max(step.begin_ns, last_ns_);
    step.open = true;
    sink_.on_step(step);
  }
  steps_.clear();
}

}  // namespace headway::interchange
