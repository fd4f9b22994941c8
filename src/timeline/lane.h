// A row of a drawing: what was done when, of an attempt or of one of its ranks, for a window and in
// no more detail than can be seen there. Pure.
//
// As long as there are few segments they are told as they are. Where there are more than the window
// has slices (or than its exact_max), each slice is told as the bucket that had most of it.
#pragma once

#include <cstdint>
#include <vector>

#include "event/event.h"
#include "timeline/ledger.h"

namespace headway::timeline {

struct LaneSegment {
  std::int64_t t0_ns = 0;
  std::int64_t t1_ns = 0;
  Bucket bucket = Bucket::effective;
  bool operator==(const LaneSegment&) const = default;
};

struct LaneWindow {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::uint32_t slices = 1500;
  std::uint32_t exact_max = 0;  // segments that are told as they are; at least as many as slices
  bool operator==(const LaneWindow&) const = default;

  static constexpr std::uint32_t slices_max = 20'000;
};

struct Lane {
  std::vector<LaneSegment> segments;  // in order, not overlapping, inside the window
  bool exact = true;
};

// Takes segments in order of time.
class LaneBuilder {
 public:
  // A window without a length, or with none or too many slices, is made to make sense.
  explicit LaneBuilder(const LaneWindow& window);

  void add(std::int64_t t0_ns, std::int64_t t1_ns, Bucket bucket);
  // Nothing that comes can be seen any more.
  [[nodiscard]] bool is_past(std::int64_t t_ns) const { return t_ns >= window_.to_ns; }
  [[nodiscard]] const LaneWindow& window() const { return window_; }
  [[nodiscard]] Lane finish();

 private:
  struct Slice {
    std::int64_t ns[kBuckets] = {};
  };
  void spread(const LaneSegment& segment);
  [[nodiscard]] std::int64_t edge(std::size_t slice) const;

  LaneWindow window_;
  std::vector<LaneSegment> segments_;
  std::vector<Slice> bins_;  // empty: still exact
};

// A job's or an attempt's own row.
[[nodiscard]] Lane ledger_lane(const Ledger& ledger, const LaneWindow& window);

// A rank's row, from its own events in their order. What it did in the training lane counts; the
// time of a step that was trained before (`data` up to `high_water`) is replay.
class RankLane {
 public:
  RankLane(const LaneWindow& window, std::int64_t high_water, bool use_steps);

  void take(const event::Event& event);
  [[nodiscard]] bool is_past(std::int64_t t_ns) const { return builder_.is_past(t_ns); }
  // `failed`: the attempt ended in a failure.
  [[nodiscard]] Lane finish(bool failed);

 private:
  static constexpr std::size_t depth_max = 64, pending_max = 4096;
  void advance(std::int64_t t_ns);
  [[nodiscard]] Bucket bucket_of(event::PhaseId phase, bool warm) const;
  void close_span(event::PhaseId phase, bool warm);
  void settle(Bucket plain);

  LaneBuilder builder_;
  const std::int64_t high_water_;
  const bool use_steps_;
  struct Pending {
    std::int64_t t0_ns, t1_ns;
    event::PhaseId phase;  // HW_PHASE_NONE: what the step, or what follows, says
    bool warm;
  };
  std::vector<Pending> pending_;  // since the last step ended
  std::vector<event::PhaseId> open_;
  std::int64_t last_ns_ = INT64_MIN;
  bool stepped_ = false;  // one step has ended
  bool ended_ = false;    // training is over: what comes now is shutdown
};

}  // namespace headway::timeline
