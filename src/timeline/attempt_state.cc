#include "timeline/attempt_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/saturate.h"
#include "timeline/lay.h"

namespace headway::timeline {
namespace {

// Ranks whose ends of a step lie this near were released together.
constexpr std::int64_t kTogetherMinNs = 1'000'000;
constexpr std::int64_t kTogetherShare = 64;  // or this part of the step

}  // namespace

AttemptState::AttemptState(const AttemptOptions& options) : options_(options) {
  out_.id = options.id;
  out_.high_water = options.high_water;
}

AttemptState::AttemptState(const AttemptState& o)
    : options_(o.options_),
      ranks_(o.ranks_),
      out_(o.out_),
      begun_(o.begun_),
      in_loop_(o.in_loop_),
      cursor_ns_(o.cursor_ns_),
      agent_last_ns_(o.agent_last_ns_),
      agent_beyond_ns_(o.agent_beyond_ns_),
      saves_(o.saves_),
      last_key_(o.last_key_),
      aligned_(o.aligned_),
      late_(o.late_) {
  for (RankState& r : ranks_) r.machine.bind(&out_.facts);
}

std::size_t AttemptState::add_rank(std::uint32_t rank, const std::string& host, bool device_times) {
  HW_CHECK(!begun_);
  HW_CHECK(ranks_.empty() || ranks_.back().share.rank < rank);
  ranks_.emplace_back(rank, MachineOptions{rank, options_.cut_ns, device_times}, &out_.facts);
  ranks_.back().share.host = host;
  return ranks_.size() - 1;
}

void AttemptState::consume_agent(const event::Event& said) {
  event::Event e = said;
  e.t_ns = std::clamp(e.t_ns, -kTimeMax, kTimeMax);
  const bool attr = e.type == event::EventType::attr;
  if (!attr && e.t_ns > options_.cut_ns) {
    agent_beyond_ns_ = std::max(agent_beyond_ns_, e.t_ns);
    ++out_.facts.anomalies.events_after_end;
    return;
  }
  out_.facts.take(e, event::kAgentRank);
  const bool before_launch = e.type == event::EventType::mark && e.name <= HW_MARK_ALLOCATED;
  if (!attr && !before_launch) agent_last_ns_ = std::max(agent_last_ns_, e.t_ns);
}

void AttemptState::drain(std::size_t index) {
  RankState& r = ranks_[index];
  if (r.drained) return;
  r.drained = true;
  r.machine.drained();
}

bool AttemptState::missing_data() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const RankState& r) { return r.machine.any_missing_data(); });
}

void AttemptState::combine() {
  while (combine_next()) {
  }
}

// A rank that may still tell about the next step has not done so.
bool AttemptState::must_wait() const {
  bool waiting = false;
  for (const RankState& r : ranks_) {
    if (r.machine.queued() >= waiting_steps_max) return false;
    if (!r.drained && !r.machine.has_step()) waiting = true;
  }
  return waiting;
}

// Often rank 0 alone reads the checkpoint and broadcasts it: the others do not know where they are
// and count from 1. Ranks train in step, so they are where rank 0 is.
void AttemptState::align_ranks() {
  aligned_ = std::any_of(ranks_.begin(), ranks_.end(),
                         [](const RankState& r) { return r.machine.has_step(); });
  const Position* restored = nullptr;
  for (const RankState& r : ranks_) {
    const std::optional<Position>& p = r.machine.restored();
    if (!p || p->step <= 0 || !r.machine.has_step() || r.machine.front().step != p->step + 1) {
      continue;
    }
    if (restored == nullptr || p->step > restored->step) restored = &*p;
  }
  if (restored == nullptr) return;
  const Position from = *restored;
  for (RankState& r : ranks_) {
    if (!r.machine.restored() && r.machine.has_step() && r.machine.front().step == 1) {
      r.machine.count_from(from);
    }
  }
}

// Combines the lowest step that any rank has finished. False when there is none, or when it is too
// early to tell.
bool AttemptState::combine_next() {
  if (must_wait()) return false;
  if (!aligned_) align_ranks();
  const StepRecord* key = nullptr;
  for (const RankState& r : ranks_) {
    if (!r.machine.has_step()) continue;
    const StepRecord& s = r.machine.front();
    if (key == nullptr || std::pair(s.generation, s.step) < std::pair(key->generation, key->step)) {
      key = &s;
    }
  }
  if (key == nullptr) return false;

  const std::int64_t generation = key->generation;
  const std::int64_t number = key->step;
  if (out_.steps > 0 && std::pair(generation, number) <= last_key_) late_ = true;
  last_key_ = {generation, number};
  RankState* last = nullptr;
  std::int64_t second_ns = kNoTime;
  bool all_there = true;
  for (RankState& r : ranks_) {
    if (!r.at(generation, number)) {
      if (r.trains()) all_there = false;
      continue;
    }
    const std::int64_t end = r.machine.front().end_ns;
    if (last == nullptr || end > last->machine.front().end_ns) {
      if (last != nullptr) second_ns = last->machine.front().end_ns;
      last = &r;
    } else {
      second_ns = std::max(second_ns, end);
    }
  }
  if (!all_there) {
    if (ended_by_all(generation, number) != Ended::yes) return false;
    ++out_.facts.anomalies.partial_steps;
  }
  if (!in_loop_) begin_loop();
  RankState& decider = ranks_.size() > 1 ? awaited_rank(*last) : *last;
  if (second_ns != kNoTime) {
    ++decider.share.critical_steps;
    const std::int64_t held_up_ns = last->machine.front().end_ns - second_ns;
    decider.share.held_up_ns = base::add_saturated(decider.share.held_up_ns, held_up_ns);
  }
  take_step(decider.machine.front(), last->machine.front().end_ns);
  for (RankState& r : ranks_) {
    if (r.at(generation, number)) r.machine.pop();
  }
  return true;
}

// A rank that has no record of a step still ended it if somebody got through the next one (ranks
// train in step): its journal lost something, or it ended early. Otherwise nobody finished it.
AttemptState::Ended AttemptState::ended_by_all(std::int64_t generation, std::int64_t number) const {
  bool everyone_else_is_ahead = true;
  bool may_go_on = false;
  for (const RankState& r : ranks_) {
    if (!r.trains()) continue;
    if (!r.machine.has_step()) everyone_else_is_ahead = false;
    if (!r.at(generation, number)) continue;
    if (r.machine.queued() >= 2) return Ended::yes;
    if (!r.drained) may_go_on = true;
  }
  if (everyone_else_is_ahead) return Ended::yes;
  return may_go_on ? Ended::not_known_yet : Ended::no;
}

// Whom the others waited for. Ranks meet in a collective, which releases all at once, and which of
// them comes out last is chance: among those that ended together it is the one that was busy
// longest with something that is not training. (Rank 0 evaluates or saves; the others stand in an
// all-reduce meanwhile, and take it for training.) A wait for data does not count after the first
// step: one that others do not see in their ends is as likely slack as loss, and of a thousand
// ranks somebody always waits.
AttemptState::RankState& AttemptState::awaited_rank(RankState& last) {
  const StepRecord& step = last.machine.front();
  const std::int64_t together_ns =
      std::max(kTogetherMinNs, (step.end_ns - std::min(cursor_ns_, step.end_ns)) / kTogetherShare);
  const auto busy_until = [&](const RankState& r) {
    const SegmentList& segments = r.machine.front().segments;
    for (const Segment* s = segments.end(); s != segments.begin();) {
      --s;
      if (out_.steps == 0 || s->kind != Kind::data_wait) return s->t1_ns;
    }
    return kNoTime;
  };
  RankState* found = &last;
  for (RankState& r : ranks_) {
    if (!r.at(step.generation, step.step)) continue;
    if (step.end_ns - r.machine.front().end_ns > together_ns) continue;
    if (busy_until(r) > busy_until(*found)) found = &r;
  }
  return *found;
}

// Every rank's own account of the step.
void AttemptState::share_step(const StepRecord& step, Bucket train) {
  for (RankState& r : ranks_) {
    if (!r.at(step.generation, step.step)) continue;
    const StepRecord& own = r.machine.front();
    if (r.cursor_ns == kNoTime) r.cursor_ns = out_.launch_ns;
    const bool first = r.share.steps == 0;
    const std::int64_t own_end = std::max(r.cursor_ns, own.end_ns);
    lay(own.segments.begin(), own.segments.end(), r.cursor_ns, own_end,
        [&](Kind k, std::int64_t t0, std::int64_t t1) {
          r.share.sums[loop_bucket(k, first, train)] += t1 - t0;
        });
    r.cursor_ns = own_end;
    ++r.share.steps;
  }
}

void AttemptState::take_step(const StepRecord& step, std::int64_t end_ns) {
  const std::int64_t data = position(step);
  const bool is_new = data > out_.high_water;
  const Bucket train = is_new ? Bucket::effective : Bucket::wasted_replay;
  const std::int64_t from = cursor_ns_;
  const std::int64_t to = std::max(from, end_ns);
  if (ranks_.size() > 1) share_step(step, train);

  if (out_.steps == 0) {
    first_step(step, to, train);
  } else {
    Piece& run = out_.ledger.open_step(from);
    std::int64_t train_ns = 0;
    lay(step.segments.begin(), step.segments.end(), from, to,
        [&](Kind k, std::int64_t t0, std::int64_t t1) {
          if (is_new && k == Kind::none && !out_.first_effective_ns) out_.first_effective_ns = t0;
          const Bucket bucket = loop_bucket(k, false, train);
          run.lay(bucket, t1 - t0);
          if (bucket == train) train_ns += t1 - t0;
        });
    out_.train_ns += train_ns;
    out_.ledger.close_step(to, data, train_ns);
    out_.step_times.add(train_ns);
  }
  cursor_ns_ = to;
  ++out_.steps;
  if (!is_new) ++out_.replayed_steps;
  if (out_.steps == 1) {
    out_.first_step = step.step;
    out_.first_data = data;
  }
  if (out_.steps == 2) out_.second_data = data;
  out_.last_step = step.step;
  out_.last_data = data;
  out_.high_water = std::max(out_.high_water, data);
  saves_.stepped(step.step, data, out_.train_ns);
  saves_.saved(out_.facts);
}

}  // namespace headway::timeline
