#include <algorithm>

#include "timeline/lane.h"

namespace headway::timeline {

using event::Event;
using event::EventType;
using event::PhaseId;

RankLane::RankLane(const LaneWindow& window, std::int64_t high_water, bool use_steps)
    : builder_(window), high_water_(high_water), use_steps_(use_steps) {}

Bucket RankLane::bucket_of(PhaseId phase, bool warm) const {
  switch (phase) {
    case HW_PHASE_IMPORTS:
      return Bucket::init_imports;
    case HW_PHASE_DEVICE_INIT:
      return Bucket::init_device;
    case HW_PHASE_PROCESS_GROUP_INIT:
      return Bucket::init_process_group;
    case HW_PHASE_PREPROC_CREATION:
      return Bucket::init_preproc;
    case HW_PHASE_TRAIN_MODULE_CREATION:
      return Bucket::init_train_module;
    case HW_PHASE_INIT_PLUGINS:
      return Bucket::init_plugins;
    case HW_PHASE_PRE_TRAIN:
      return Bucket::init_pre_train;
    case HW_PHASE_GET_FIRST_BATCH_DATA:
      return Bucket::init_first_batch;
    case HW_PHASE_RESTORE:
      return Bucket::init_restore;
    case HW_PHASE_COMPILE:
      return stepped_ ? Bucket::wasted_recompile
             : warm   ? Bucket::compile_warm
                      : Bucket::compile_cold;
    case HW_PHASE_DATA_WAIT:
      return stepped_ ? Bucket::wasted_data_wait : Bucket::init_first_batch;
    case HW_PHASE_EVAL:
      return Bucket::wasted_eval;
    case HW_PHASE_CHECKPOINT_BLOCKED:
      return ended_ ? Bucket::shutdown_final_save : Bucket::wasted_checkpoint_blocked;
    case HW_PHASE_PUBLISH:
      return Bucket::shutdown_publish;
    default:
      return ended_ ? Bucket::shutdown_other : stepped_ ? Bucket::wasted_other : Bucket::init_other;
  }
}

// Everything up to here was done by what is innermost.
void RankLane::advance(std::int64_t t_ns) {
  if (last_ns_ != INT64_MIN && t_ns > last_ns_) {
    const PhaseId phase = open_.empty() ? PhaseId{HW_PHASE_NONE} : open_.back();
    if (!pending_.empty() && pending_.back().phase == phase && !pending_.back().warm &&
        pending_.back().t1_ns == last_ns_) {
      pending_.back().t1_ns = t_ns;
    } else if (pending_.size() < pending_max) {
      pending_.push_back({last_ns_, t_ns, phase, false});
    } else {
      pending_.back().t1_ns = t_ns;  // detail that no drawing shows
    }
  }
  last_ns_ = std::max(last_ns_, t_ns);
}

void RankLane::close_span(PhaseId phase, bool warm) {
  const auto found = std::find(open_.rbegin(), open_.rend(), phase);
  if (found == open_.rend()) return;
  if (warm && !pending_.empty() && pending_.back().phase == phase) pending_.back().warm = true;
  open_.erase(std::next(found).base(), open_.end());
}

void RankLane::settle(Bucket plain) {
  for (const Pending& each : pending_) {
    const bool named = each.phase != HW_PHASE_NONE;
    // What the user named, inside training, is training.
    const bool own = each.phase >= HW_PHASE_USER_FIRST || each.phase == HW_PHASE_JOIN;
    const Bucket bucket = named && !(own && stepped_) ? bucket_of(each.phase, each.warm) : plain;
    builder_.add(each.t0_ns, each.t1_ns, bucket);
  }
  pending_.clear();
}

void RankLane::take(const Event& e) {
  const bool counts = e.type == EventType::begin || e.type == EventType::end ||
                      e.type == EventType::step || e.type == EventType::step_end;
  if (!counts || e.lane != 0) return;
  advance(e.t_ns);
  if (e.type == EventType::begin && open_.size() < depth_max) open_.push_back(e.name);
  if (e.type == EventType::end) close_span(e.name, e.a != 0);
  if (e.type == EventType::step && !stepped_) {
    // Start-up ends where the first step begins; its compilation is told as such below.
    settle(Bucket::init_other);
  }
  if (e.type == EventType::step_end) {
    const std::int64_t data = use_steps_ || e.b == HW_NO_DATA ? e.a : e.b;
    settle(data <= high_water_ ? Bucket::wasted_replay : Bucket::effective);
    stepped_ = true;
  }
}

Lane RankLane::finish(bool failed) {
  if (!stepped_) {
    settle(Bucket::init_other);
  } else if (failed) {
    settle(Bucket::wasted_interrupted_step);
  } else {
    ended_ = true;
    settle(Bucket::shutdown_other);
  }
  return builder_.finish();
}

}  // namespace headway::timeline
