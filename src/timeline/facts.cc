#include "timeline/facts.h"

#include <algorithm>

namespace headway::timeline {
namespace {

using event::Event;
using event::EventType;

void keep_first(std::optional<std::int64_t>& slot, std::int64_t t) {
  slot = slot ? std::min(*slot, t) : t;
}

template <typename T>
void push_bounded(std::vector<T>& list, T value, Anomalies& anomalies) {
  if (list.size() < Facts::facts_max) {
    list.push_back(std::move(value));
  } else {
    ++anomalies.overflowed_facts;
  }
}

void take_mark(Facts& f, const Event& e, std::uint32_t rank) {
  switch (e.name) {
    case HW_MARK_SUBMITTED:
      keep_first(f.submitted_ns, e.t_ns);
      break;
    case HW_MARK_RESOURCES_AVAILABLE:
      keep_first(f.resources_available_ns, e.t_ns);
      break;
    case HW_MARK_ALLOCATED:
      keep_first(f.allocated_ns, e.t_ns);
      break;
    case HW_MARK_LAUNCHER_START:
      keep_first(f.launcher_start_ns, e.t_ns);
      break;
    case HW_MARK_TRAINER_START:
      keep_first(f.trainer_start_ns, e.t_ns);
      break;
    case HW_MARK_PREEMPT_NOTICE:
      keep_first(f.preempt_notice_ns, e.t_ns);
      break;
    case HW_MARK_JOB_END:
      f.job_end_ns = f.job_end_ns ? std::max(*f.job_end_ns, e.t_ns) : e.t_ns;
      break;
    case HW_MARK_FAILURE:
    case HW_MARK_EXIT: {
      EndMark end{e.t_ns, event::unpack_end(e.a, e.b), rank == event::kAgentRank};
      if (end.info.rank == HW_RANK_UNKNOWN && rank != event::kAgentRank) end.info.rank = rank;
      push_bounded(e.name == HW_MARK_FAILURE ? f.failures : f.exits, end, f.anomalies);
      break;
    }
    default:
      ++f.anomalies.unknown_events;
  }
}

// All ranks report the same save; what counts as one is a step not seen before in this state.
void take_checkpoint(Facts& f, const Event& e) {
  const Position p{e.t_ns, e.a, e.b, 0};
  // Of a save that is counted already; the disk was enough to go on from it.
  if (e.name == HW_CHECKPOINT_UPLOADED) return;
  if (e.name == HW_CHECKPOINT_FAILED) {
    if (f.failed_saves.size() < Facts::facts_max) {
      f.failed_saves.insert(e.a);
    } else if (!f.failed_saves.contains(e.a)) {
      ++f.anomalies.overflowed_facts;
    }
    return;
  }
  const bool durable = e.name == HW_CHECKPOINT_DURABLE;
  if (durable) f.failed_saves.erase(e.a);  // it was tried again
  if (!durable && e.name != HW_CHECKPOINT_STAGED) {
    ++f.anomalies.unknown_events;
    return;
  }
  std::optional<Position>& last = durable ? f.last_durable : f.last_staged;
  const std::optional<Position>& other = durable ? f.last_staged : f.last_durable;
  const bool known = (last && last->step >= p.step) || (other && other->step >= p.step);
  if (!known) ++f.saves;
  // The same whichever rank is heard first: a save is as early as the first of them has it.
  const auto keep = [&p](std::optional<SaveTime>& slot, bool further) {
    if (!slot || further) slot = SaveTime{p.step, p.t_ns};
    if (slot->step == p.step) slot->t_ns = std::min(slot->t_ns, p.t_ns);
  };
  keep(f.first_save, f.first_save && p.step < f.first_save->step);
  keep(f.last_save, f.last_save && p.step > f.last_save->step);
  if (!last || p.step > last->step || (p.step == last->step && p.t_ns < last->t_ns)) last = p;
}

}  // namespace

Anomalies& Anomalies::operator+=(const Anomalies& o) {
  out_of_order += o.out_of_order;
  clamped_times += o.clamped_times;
  unmatched_ends += o.unmatched_ends;
  unclosed_spans += o.unclosed_spans;
  too_deep += o.too_deep;
  unended_steps += o.unended_steps;
  steps_backwards += o.steps_backwards;
  merged_segments += o.merged_segments;
  device_times_missing += o.device_times_missing;
  partial_steps += o.partial_steps;
  missing_ends += o.missing_ends;
  events_after_end += o.events_after_end;
  overflowed_facts += o.overflowed_facts;
  unknown_events += o.unknown_events;
  return *this;
}

std::uint64_t Anomalies::total() const {
  return out_of_order + clamped_times + unmatched_ends + unclosed_spans + too_deep + unended_steps +
         steps_backwards + merged_segments + device_times_missing + partial_steps + missing_ends +
         events_after_end + overflowed_facts + unknown_events;
}

void Facts::take(const Event& e, std::uint32_t rank) {
  switch (e.type) {
    case EventType::mark:
      take_mark(*this, e, rank);
      break;
    case EventType::checkpoint:
      take_checkpoint(*this, e);
      break;
    case EventType::restore:
      push_bounded(restores, Position{e.t_ns, e.a, e.b, e.name}, anomalies);
      break;
    case EventType::hang:
      push_bounded(hangs, Hang{e.t_ns, std::min(e.a, e.t_ns), static_cast<std::uint32_t>(e.b)},
                   anomalies);
      break;
    case EventType::attr:
      if (attrs.size() < facts_max) {
        attrs[e.name] = static_cast<event::NameId>(e.a);
      } else {
        ++anomalies.overflowed_facts;
      }
      break;
    default:
      ++anomalies.unknown_events;
  }
}

}  // namespace headway::timeline
