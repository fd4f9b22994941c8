// Turns the events of one stream into things with a length: spans and steps. Bounded memory: what
// is open, and no more than open_max of it. Spans of a lane come out properly nested even where the
// events cross (the inner one is then told in two pieces); a step comes out when it ends. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "event/event.h"

namespace headway::interchange {

// Nanoseconds from `from` to `to`; 0 when it is not later. Never overflows.
[[nodiscard]] constexpr std::uint64_t length_ns(std::int64_t from, std::int64_t to) {
  return to <= from ? 0 : static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

struct SpanPiece {
  event::PhaseId phase = 0;
  std::uint16_t lane = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool warm = false;       // a compile span: every artefact came from a cache
  bool open = false;       // never ended: end_ns is the last time the stream knows
  bool continued = false;  // goes on in a piece that begins where this one ends
};

struct StepPiece {
  std::int64_t step = 0;
  std::int64_t data = HW_NO_DATA;
  std::uint16_t lane = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool open = false;
};

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void on_span(const SpanPiece& span) = 0;
  virtual void on_step(const StepPiece& step) = 0;
  virtual void on_other(const event::Event& event) = 0;  // marks, checkpoints, restores, hangs, …
};

class SpanWalk {
 public:
  static constexpr std::size_t open_max = 64;  // spans per lane; steps
  explicit SpanWalk(SpanSink& sink) : sink_(sink) {}
  void take(const event::Event& event);
  // Ends what is still open at the last time seen.
  void finish();

 private:
  struct Open {
    event::PhaseId phase;
    std::int64_t begin_ns;
  };
  void end_span(const event::Event& event);
  void end_step(const event::Event& event);

  SpanSink& sink_;
  std::map<std::uint16_t, std::vector<Open>> spans_;
  std::vector<StepPiece> steps_;
  std::int64_t last_ns_ = INT64_MIN;
};

}  // namespace headway::interchange
