#include "timeline/rank_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/saturate.h"

namespace headway::timeline {
namespace {

using event::Event;
using event::EventType;
using event::PhaseId;

// Half a tick here, an anchor there: less than this is no anomaly.
constexpr std::int64_t kOrderSlackNs = 1'000'000;

bool is_stage(PhaseId phase) {
  return phase >= HW_PHASE_IMPORTS && phase <= HW_PHASE_RESTORE;
}

Kind kind_of(PhaseId phase) {
  return phase < event::kBuiltinPhases ? static_cast<Kind>(phase) : Kind::user;
}

}  // namespace

RankMachine::RankMachine(const MachineOptions& options, Facts* facts) : options_(options) {
  bind(facts);
}

void RankMachine::bind(Facts* facts) {
  HW_CHECK(facts != nullptr);
  facts_ = facts;
}

// A thread may be made to wait between its look at the clock and its place in the journal, so the
// records of two threads need not lie in the order of their times. Those of one do.
std::int64_t RankMachine::in_order(const Event& e) {
  std::int64_t t = e.t_ns;
  if (t > kTimeMax || t < -kTimeMax) [[unlikely]] {
    ++facts_->anomalies.clamped_times;
    t = t > 0 ? kTimeMax : -kTimeMax;
  }
  if (e.lane == 0) {
    if (main_.last_ns != kNoTime && main_.last_ns - t > kOrderSlackNs) [[unlikely]] {
      ++facts_->anomalies.out_of_order;
    }
    main_.last_ns = std::max(main_.last_ns, t);
  }
  return now_ns_ != kNoTime ? std::max(t, now_ns_) : t;
}

void RankMachine::advance(std::int64_t t) {
  if (now_ns_ != kNoTime && t > now_ns_ && kind_ != Kind::none) {
    facts_->anomalies.merged_segments += current_.push({now_ns_, t, kind_});
  }
  now_ns_ = t;
}

std::size_t RankMachine::consume(std::span<const Event> events, std::size_t queued_max) {
  std::size_t taken = 0;
  while (taken < events.size() && queued() < queued_max) take(events[taken++]);
  return taken;
}

void RankMachine::take(const Event& e) {
  if (e.type == EventType::device_done) {
    device_done(e);
    return;
  }
  if (e.type == EventType::attr) {
    facts_->take(e, options_.rank);
    return;
  }
  if (e.t_ns > options_.cut_ns) [[unlikely]] {
    ++facts_->anomalies.events_after_end;
    beyond_cut_ns_ = std::max(beyond_cut_ns_, std::min(e.t_ns, kTimeMax));
    return;
  }
  const std::int64_t t = in_order(e);
  switch (e.type) {
    case EventType::begin:
      begin_span(e, t);
      break;
    case EventType::end:
      end_span(e, t);
      break;
    case EventType::step:
      begin_step(e, t);
      break;
    case EventType::step_end:
      end_step(e, t);
      break;
    case EventType::mark:
    case EventType::checkpoint:
    case EventType::restore:
    case EventType::hang: {
      Event clamped = e;
      clamped.t_ns = std::clamp(e.t_ns, -kTimeMax, kTimeMax);
      facts_->take(clamped, options_.rank);
      if (e.type == EventType::restore && !any_step_) {
        restored_ = Position{clamped.t_ns, e.a, e.b, e.name};
      }
      // What surrounds an attempt says nothing about when its trainer was at work.
      if (e.type == EventType::mark && e.name != HW_MARK_FAILURE) return;
      break;
    }
    default:
      ++facts_->anomalies.unknown_events;
      return;
  }
  if (first_ns_ == kNoTime) first_ns_ = t;
  last_event_ns_ = std::max(last_event_ns_, t);
}

RankMachine::Lane* RankMachine::lane(std::uint16_t id) {
  if (id == 0) [[likely]]
    return &main_;
  for (Lane& l : others_) {
    if (l.id == id) return &l;
  }
  if (others_.size() >= lanes_max) {
    ++facts_->anomalies.too_deep;
    return nullptr;
  }
  others_.push_back(Lane{.id = id, .open = {}});
  return &others_.back();
}

void RankMachine::begin_span(const Event& e, std::int64_t t) {
  Lane* l = lane(e.lane);
  if (l == nullptr) return;
  if (l == &main_ || kind_ == Kind::join || !others_.empty()) advance(t);
  if (l->open.size() >= depth_max) {
    ++l->too_deep;
    ++facts_->anomalies.too_deep;
    return;
  }
  l->open.push_back({e.name, t, ++sequence_});
  if (e.name == HW_PHASE_COMPILE && first_compile_begin_ns_ == kNoTime) first_compile_begin_ns_ = t;
  recompute_kind();
}

void RankMachine::end_span(const Event& e, std::int64_t t) {
  Lane* l = lane(e.lane);
  if (l == nullptr) return;
  if (l == &main_ || !others_.empty()) advance(t);
  if (l->too_deep > 0) {
    --l->too_deep;
    return;
  }
  std::size_t i = l->open.size();
  while (i > 0 && l->open[i - 1].phase != e.name) --i;
  if (i == 0) {
    ++facts_->anomalies.unmatched_ends;
    return;
  }
  facts_->anomalies.unclosed_spans += l->open.size() - i;
  const Open span = l->open[i - 1];
  l->open.resize(i - 1);
  if (l == &main_) closed(span, e, t);
  recompute_kind();
}

void RankMachine::closed(const Open& span, const Event& e, std::int64_t t) {
  if (span.phase == HW_PHASE_COMPILE && e.a == 1) {
    for (Segment* s = current_.end(); s != current_.begin();) {
      --s;
      if (s->t0_ns < span.begin_ns) break;
      if (s->kind == Kind::compile_cold) s->kind = Kind::compile_warm;
    }
  }
  if (span.phase >= event::kBuiltinPhases) {
    auto found = user_.find(span.phase);
    if (found == user_.end()) {
      const event::NameId key =
          user_.size() < user_names_max ? span.phase : event::NameTable::kOtherName;
      found = user_.try_emplace(key, 0).first;
    }
    found->second = base::add_saturated(found->second, t - span.begin_ns);
  }
  if (is_stage(span.phase) && !any_step_) {
    last_stage_end_ns_ = t;
    if (gates_.size() < gates_max) gates_.push_back({span.phase, occurrences_[span.phase]++, t});
  }
}

// Compilation counts wherever it happens; otherwise the innermost built-in span does, except that
// waiting for data inside an evaluation is part of the evaluation. A user's own span is transparent
// inside a step: a phase("forward") must not turn training into waste.
void RankMachine::recompute_kind() {
  kind_ = Kind::none;
  bool user = false;
  bool data_wait = false;
  for (std::size_t i = main_.open.size(); i > 0; --i) {
    const PhaseId phase = main_.open[i - 1].phase;
    if (phase == HW_PHASE_COMPILE) {
      kind_ = Kind::compile_cold;
      return;
    }
    if (phase >= event::kBuiltinPhases) {
      user = true;
    } else if (kind_ == Kind::none) {
      kind_ = kind_of(phase);
      data_wait = phase == HW_PHASE_DATA_WAIT;
    } else if (data_wait && phase == HW_PHASE_EVAL) {
      kind_ = Kind::eval;
    }
  }
  if (kind_ == Kind::join) kind_ = joined_kind();
  if (kind_ == Kind::none && user && !in_step_) kind_ = Kind::user;
}

// The training lane only waits: the stage that was declared first and is still open is what it
// waits for. With none open it stays `join`, which is plain work of its region.
Kind RankMachine::joined_kind() const {
  const Open* first = nullptr;
  for (const Lane& l : others_) {
    for (const Open& open : l.open) {
      if (open.phase >= event::kBuiltinPhases || open.phase == HW_PHASE_JOIN) continue;
      if (first == nullptr || open.sequence < first->sequence) first = &open;
    }
  }
  return first == nullptr ? Kind::join : kind_of(first->phase);
}

void RankMachine::begin_step(const Event& e, std::int64_t t) {
  advance(t);
  flush_pending();
  if (in_step_) ++facts_->anomalies.unended_steps;
  in_step_ = true;
  if (e.b == HW_NO_DATA) missing_data_ = true;
  if (loop_begin_ns_ == kNoTime) loop_begin_ns_ = t;
  if (!main_.open.empty()) recompute_kind();
}

void RankMachine::end_step(const Event& e, std::int64_t t) {
  advance(t);
  if (e.b == HW_NO_DATA) missing_data_ = true;
  // The same step ended again (a second optimizer): it lasted until now.
  if (has_pending_ && !in_step_ && pending_.step == e.a) {
    pending_.end_ns = t;
    pending_.data = e.b;
    for (const Segment& s : current_) pending_.segments.push(s);
    current_.clear();
    return;
  }
  flush_pending();
  if (any_step_ && e.a <= last_step_) {
    ++generation_;
    ++facts_->anomalies.steps_backwards;
  }
  if (!loop_split_) start_loop(t);
  pending_.generation = generation_;
  pending_.step = e.a;
  pending_.data = e.b;
  pending_.end_ns = t;
  pending_.segments = std::move(current_);
  current_.clear();
  has_pending_ = true;
  any_step_ = true;
  last_step_ = e.a;
  in_step_ = false;
  if (!main_.open.empty()) recompute_kind();
}

// Splits what was recorded so far into start-up and first step. Without an explicit beginning the
// loop began when the last stage ended, or with the first compilation, or (nothing known) the first
// step took no time of its own.
void RankMachine::start_loop(std::int64_t t) {
  if (loop_begin_ns_ == kNoTime) {
    loop_begin_ns_ = last_stage_end_ns_ != kNoTime        ? last_stage_end_ns_
                     : first_compile_begin_ns_ != kNoTime ? first_compile_begin_ns_
                                                          : t;
  }
  SegmentList rest;
  for (const Segment& s : current_) {
    if (s.t0_ns < loop_begin_ns_) init_.push({s.t0_ns, std::min(s.t1_ns, loop_begin_ns_), s.kind});
    if (s.t1_ns > loop_begin_ns_) rest.push({std::max(s.t0_ns, loop_begin_ns_), s.t1_ns, s.kind});
  }
  current_ = std::move(rest);
  loop_split_ = true;
}

void RankMachine::flush_pending() {
  if (!has_pending_) return;
  has_pending_ = false;
  if (!options_.device_times) {
    release(std::move(pending_));
    return;
  }
  awaiting_device_.push_back(std::move(pending_));
  if (awaiting_device_.size() > device_pending_max) {
    ++facts_->anomalies.device_times_missing;
    release(std::move(awaiting_device_.front()));
    awaiting_device_.pop_front();
  }
}

// The device's end of a step replaces the host's. It may be told many steps later and in any order
// within the pending window; steps before it must have ended too.
void RankMachine::device_done(const Event& e) {
  if (e.t_ns > options_.cut_ns) return;
  const std::int64_t t = std::clamp(e.t_ns, -kTimeMax, kTimeMax);
  if (has_pending_ && pending_.step == e.a) flush_pending();
  const auto found = std::find_if(awaiting_device_.begin(), awaiting_device_.end(),
                                  [&](const StepRecord& r) { return r.step == e.a; });
  if (found == awaiting_device_.end()) return;
  found->end_ns = std::max(found->end_ns, t);
  last_event_ns_ = std::max(last_event_ns_, t);
  const auto count = static_cast<std::size_t>(found - awaiting_device_.begin()) + 1;
  facts_->anomalies.device_times_missing += count - 1;
  for (std::size_t i = 0; i < count; ++i) {
    release(std::move(awaiting_device_.front()));
    awaiting_device_.pop_front();
  }
}

void RankMachine::shift(StepRecord& record) const {
  record.step = base::add_saturated(record.step, step_shift_);
  if (record.data != HW_NO_DATA) record.data = base::add_saturated(record.data, data_shift_);
}

void RankMachine::release(StepRecord&& record) {
  shift(record);
  queue_.push_back(std::move(record));
}

void RankMachine::count_from(const Position& position) {
  HW_CHECK(step_shift_ == 0 && data_shift_ == 0);
  step_shift_ = position.step;
  data_shift_ = position.data == HW_NO_DATA ? 0 : position.data;
  for (std::size_t i = head_; i < queue_.size(); ++i) shift(queue_[i]);
}

void RankMachine::pop() {
  HW_CHECK(has_step());
  if (++head_ == queue_.size()) {
    queue_.clear();
    head_ = 0;
  }
}

void RankMachine::drained() {
  flush_pending();
  facts_->anomalies.device_times_missing += awaiting_device_.size();
  for (StepRecord& record : awaiting_device_) release(std::move(record));
  awaiting_device_.clear();
}

void RankMachine::finish(std::int64_t end_ns) {
  HW_CHECK(!has_pending_ && awaiting_device_.empty());
  if (now_ns_ != kNoTime) advance(std::max(end_ns, now_ns_));
  if (!loop_split_) {
    if (loop_begin_ns_ != kNoTime) {
      start_loop(loop_begin_ns_);
    } else {
      init_ = std::move(current_);
      current_.clear();
    }
  }
}

}  // namespace headway::timeline
