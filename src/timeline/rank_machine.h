// One rank's stream of events, turned into finished steps, start-up stages and a tail, each with
// the flat segments of the training lane. Knows nothing of other ranks or attempts, nor of buckets.
//
// Amortised O(1) an event; what it holds is bounded by the steps not yet taken from its queue.
// Pure: no clock, no I/O. One owner, one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "event/event.h"
#include "timeline/facts.h"
#include "timeline/segment.h"

namespace headway::timeline {

// A finished step. Steps of all ranks meet by (generation, step): the generation counts how often
// the numbers went backwards, so that a roll-back inside an attempt stays in order.
struct StepRecord {
  std::int64_t generation = 0;
  std::int64_t step = 0;
  std::int64_t data = 0;
  std::int64_t end_ns = 0;
  SegmentList segments;  // since the end of the step before (the first: since the loop began)
};

// The end of a start-up stage: the last rank through it decides.
struct StageGate {
  event::PhaseId phase;
  std::uint32_t occurrence;
  std::int64_t end_ns;
};

struct MachineOptions {
  std::uint32_t rank = 0;
  std::int64_t cut_ns = INT64_MAX;  // a higher attempt took over: later events do not count
  bool device_times = false;        // wait for device_done before a step is released
};

class RankMachine {
 public:
  static constexpr std::size_t depth_max = 64;
  static constexpr std::size_t lanes_max = 256;
  static constexpr std::size_t gates_max = 4096;
  static constexpr std::size_t device_pending_max = 64;
  static constexpr std::size_t user_names_max = 256;

  // `facts` is the attempt's, shared by its machines, and outlives them. A copied machine must be
  // bound to its own attempt's facts before its next event.
  RankMachine(const MachineOptions& options, Facts* facts);
  void bind(Facts* facts);

  // Takes events until `queued_max` steps wait in the queue; returns how many it took.
  std::size_t consume(std::span<const event::Event> events, std::size_t queued_max);
  // No more events will come: the last step is final and joins the queue.
  void drained();
  // Closes open spans at `end_ns` (never before the last event). After drained().
  void finish(std::int64_t end_ns);

  // Finished steps in order. pop() drops the front.
  [[nodiscard]] bool has_step() const { return head_ < queue_.size(); }
  [[nodiscard]] std::size_t queued() const { return queue_.size() - head_; }
  [[nodiscard]] const StepRecord& front() const { return queue_[head_]; }
  void pop();

  // The position that this rank restored before its first step, if it did.
  [[nodiscard]] const std::optional<Position>& restored() const { return restored_; }
  // Its steps are numbered on from there after all: those in the queue and those to come.
  void count_from(const Position& position);

  [[nodiscard]] std::uint32_t rank() const { return options_.rank; }
  [[nodiscard]] bool any_event() const { return first_ns_ != kNoTime; }
  [[nodiscard]] std::int64_t first_event_ns() const { return first_ns_; }
  [[nodiscard]] std::int64_t last_event_ns() const { return last_event_ns_; }
  // The latest event that a higher attempt overruled; kNoTime when there was none.
  [[nodiscard]] std::int64_t beyond_cut_ns() const { return beyond_cut_ns_; }
  // When the first step began; kNoTime while there was none.
  [[nodiscard]] std::int64_t loop_begin_ns() const { return loop_begin_ns_; }
  [[nodiscard]] bool any_missing_data() const { return missing_data_; }
  [[nodiscard]] const SegmentList& init_segments() const { return init_; }
  [[nodiscard]] const std::vector<StageGate>& gates() const { return gates_; }
  // After finish(): what followed the last finished step, up to the end.
  [[nodiscard]] const SegmentList& tail_segments() const { return current_; }
  // Time in the user's own spans, by name: information beside the partition.
  [[nodiscard]] const std::map<event::NameId, std::int64_t>& user_spans() const { return user_; }

 private:
  struct Open {
    event::PhaseId phase;
    std::int64_t begin_ns;
    std::uint64_t sequence;
  };
  struct Lane {
    std::uint16_t id = 0;
    std::int64_t last_ns = kNoTime;  // of the training lane only
    std::uint64_t too_deep = 0;
    std::vector<Open> open;
  };

  void take(const event::Event& e);
  void advance(std::int64_t t_ns);
  std::int64_t in_order(const event::Event& e);
  Lane* lane(std::uint16_t id);
  void begin_span(const event::Event& e, std::int64_t t_ns);
  void end_span(const event::Event& e, std::int64_t t_ns);
  void closed(const Open& span, const event::Event& e, std::int64_t t_ns);
  void begin_step(const event::Event& e, std::int64_t t_ns);
  void end_step(const event::Event& e, std::int64_t t_ns);
  void device_done(const event::Event& e);
  void start_loop(std::int64_t t_ns);
  void flush_pending();
  void release(StepRecord&& record);
  void shift(StepRecord& record) const;
  void recompute_kind();
  [[nodiscard]] Kind joined_kind() const;

  MachineOptions options_;
  Facts* facts_ = nullptr;
  std::int64_t now_ns_ = kNoTime;
  std::int64_t first_ns_ = kNoTime;
  std::int64_t last_event_ns_ = kNoTime;
  std::int64_t beyond_cut_ns_ = kNoTime;
  std::uint64_t sequence_ = 0;

  Lane main_{};
  std::vector<Lane> others_;
  Kind kind_ = Kind::none;
  SegmentList current_;

  bool in_step_ = false;
  std::int64_t loop_begin_ns_ = kNoTime;
  bool loop_split_ = false;
  SegmentList init_;
  std::vector<StageGate> gates_;
  std::map<event::PhaseId, std::uint32_t> occurrences_;
  std::int64_t last_stage_end_ns_ = kNoTime;
  std::int64_t first_compile_begin_ns_ = kNoTime;

  bool has_pending_ = false;
  StepRecord pending_;
  bool any_step_ = false;
  std::int64_t last_step_ = 0;
  std::int64_t generation_ = 0;
  bool missing_data_ = false;
  std::deque<StepRecord> awaiting_device_;
  std::optional<Position> restored_;
  std::int64_t step_shift_ = 0, data_shift_ = 0;
  std::vector<StepRecord> queue_;
  std::size_t head_ = 0;
  std::map<event::NameId, std::int64_t> user_;
};

}  // namespace headway::timeline
