// How an attempt ends: what follows its last finished step, and the result.
#include <algorithm>

#include "base/check.h"
#include "timeline/attempt_state.h"
#include "timeline/lay.h"

namespace headway::timeline {

AttemptResult AttemptState::finish() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) drain(i);
  combine();
  close();
  return std::move(out_);
}

AttemptResult AttemptState::snapshot(std::optional<std::int64_t> now_ns, bool last) const {
  AttemptState copy(*this);
  copy.options_.now_ns = now_ns;
  copy.options_.last = last;
  return copy.finish();
}

// Segments of a rank since the last step that all ranks finished.
std::vector<Segment> AttemptState::rest_of(RankState& r) {
  std::vector<Segment> out;
  RankMachine& machine = r.machine;
  while (machine.has_step()) {
    out.insert(out.end(), machine.front().segments.begin(), machine.front().segments.end());
    machine.pop();
  }
  out.insert(out.end(), machine.tail_segments().begin(), machine.tail_segments().end());
  return out;
}

Bucket AttemptState::tail_bucket(Kind kind, const AttemptEnd& end) const {
  if (end.outcome == Outcome::clean || end.orderly) return shutdown_bucket(kind);
  const Bucket train = end.outcome == Outcome::failed ? Bucket::wasted_interrupted_step
                       : out_.steps > 0 && out_.last_data < out_.high_water ? Bucket::wasted_replay
                                                                            : Bucket::effective;
  return loop_bucket(kind, out_.steps == 0, train);
}

AttemptState::RankState* AttemptState::tail_decider(const AttemptEnd& end) {
  RankState* latest = nullptr;
  for (RankState& r : ranks_) {
    if (!r.machine.any_event()) continue;
    if (end.failure && end.failure->info.rank == r.share.rank) return &r;
    if (latest == nullptr || r.machine.last_event_ns() > latest->machine.last_event_ns())
      latest = &r;
  }
  return latest;
}

void AttemptState::lay_tail(const AttemptEnd& end) {
  std::int64_t hang_ns = INT64_MAX;
  if (end.outcome != Outcome::clean && !out_.facts.hangs.empty()) {
    const Hang& hang =
        *std::max_element(out_.facts.hangs.begin(), out_.facts.hangs.end(),
                          [](const Hang& a, const Hang& b) { return a.t_ns < b.t_ns; });
    // A step that ended after the alarm means that it was slow, not stuck.
    if (out_.steps == 0 || hang.t_ns >= cursor_ns_) hang_ns = hang.since_ns;
  }
  const std::int64_t work_end = std::max(cursor_ns_, end.work_end_ns);
  const std::int64_t busy_end = std::clamp(hang_ns, cursor_ns_, work_end);

  if (!in_loop_) {
    std::int64_t loop = INT64_MIN;
    for (const RankState& r : ranks_) loop = std::max(loop, r.machine.loop_begin_ns());
    lay_init(loop == kNoTime ? busy_end : std::clamp(loop, cursor_ns_, busy_end));
  }
  RankState* decider = tail_decider(end);
  const std::vector<Segment> rest = decider ? rest_of(*decider) : std::vector<Segment>{};
  lay(rest.data(), rest.data() + rest.size(), cursor_ns_, busy_end,
      [&](Kind k, std::int64_t t0, std::int64_t t1) { add_single(t0, t1, tail_bucket(k, end)); });
  cursor_ns_ = busy_end;
  add_single(busy_end, work_end, Bucket::wasted_hang);
  add_single(work_end, std::max(work_end, end.end_ns), Bucket::down);
  cursor_ns_ = std::max(work_end, end.end_ns);

  if (ranks_.size() > 1) lay_rank_tails(end, decider, rest, busy_end, work_end);
}

// Every rank's own account of what followed its last combined step; a rank that never trained has
// its whole life laid out here.
void AttemptState::lay_rank_tails(const AttemptEnd& end, const RankState* decider,
                                  const std::vector<Segment>& rest, std::int64_t busy_end,
                                  std::int64_t work_end) {
  for (RankState& r : ranks_) {
    const bool trained = r.cursor_ns != kNoTime;
    if (!trained) r.cursor_ns = out_.launch_ns;
    const std::vector<Segment> own = &r == decider ? rest : rest_of(r);
    const SegmentList& init = r.machine.init_segments();
    const std::int64_t own_busy = std::max(r.cursor_ns, busy_end);
    lay(trained ? own.data() : init.begin(), trained ? own.data() + own.size() : init.end(),
        r.cursor_ns, own_busy, [&](Kind k, std::int64_t t0, std::int64_t t1) {
          r.share.sums[trained ? tail_bucket(k, end) : init_bucket(k)] += t1 - t0;
        });
    r.cursor_ns = own_busy;
    const std::int64_t own_work = std::max(r.cursor_ns, work_end);
    r.share.sums[Bucket::wasted_hang] += own_work - r.cursor_ns;
    r.share.sums[Bucket::down] += cursor_ns_ - own_work;
  }
}

void AttemptState::close() {
  begin_attempt();
  saves_.saved(out_.facts);
  std::int64_t last = agent_last_ns_;
  for (const RankState& r : ranks_) {
    if (r.machine.any_event()) last = std::max(last, r.machine.last_event_ns());
  }
  out_.any_event = last != kNoTime;
  last = std::max(last, cursor_ns_);
  if (out_.steps > 0) out_.last_step_end_ns = cursor_ns_;
  const AttemptEnd end = judge_end(out_.facts, options_, last, out_.last_step_end_ns);
  for (RankState& r : ranks_) r.machine.finish(std::max(end.work_end_ns, cursor_ns_));
  lay_tail(end);
  settle(end);
}

void AttemptState::settle(const AttemptEnd& end) {
  out_.end_ns = cursor_ns_;
  out_.outcome = end.outcome;
  out_.failure = end.failure;
  if (out_.failure)
    out_.failure->t_ns = std::clamp(out_.failure->t_ns, out_.launch_ns, out_.end_ns);
  if (end.inferred) ++out_.facts.anomalies.missing_ends;
  out_.saved_train_ns = saves_.train_ns();
  out_.saved_data = saves_.data();
  out_.ledger.seal();
  const Account total = out_.ledger.total();
  HW_CHECK(total.sums.total() == out_.end_ns - out_.launch_ns);
  // Of what counts as failure, the attempt's own is what follows its last finished step.
  out_.failure_post_ns = total.sums[Bucket::wasted_interrupted_step] +
                         total.sums[Bucket::wasted_hang] + total.sums[Bucket::down];
  out_.failure_pre_ns = total.failure_ns - out_.failure_post_ns;

  std::int64_t beyond = agent_beyond_ns_;
  for (RankState& r : ranks_) {
    beyond = std::max(beyond, r.machine.beyond_cut_ns());
    out_.missing_data |= r.machine.any_missing_data();
    if (r.machine.any_event()) ++out_.ranks_reporting;
    for (const auto& [name, ns] : r.machine.user_spans()) {
      std::int64_t& slot = out_.user_spans[name];
      slot = std::max(slot, ns);
    }
    if (ranks_.size() == 1) {
      r.share.sums = total.sums;
      r.share.steps = r.share.critical_steps = out_.steps;
    }
    HW_CHECK(r.share.sums.total() == out_.end_ns - out_.launch_ns);
    out_.ranks.push_back(r.share);
  }
  if (beyond != kNoTime && options_.cut_ns != INT64_MAX) {
    out_.overlap_ns = std::max<std::int64_t>(0, beyond - std::max(options_.cut_ns, out_.launch_ns));
  }
}

std::int64_t AttemptResult::unsaved_beyond(std::int64_t data) const {
  if (steps == 0 || data >= last_data) return 0;
  if (data < first_data) return train_ns;
  if (const auto saved = saved_train_ns.find(data); saved != saved_train_ns.end()) {
    return train_ns - saved->second;
  }
  return std::clamp<std::int64_t>(train_ns - ledger.train_ns_up_to(data), 0, train_ns);
}

}  // namespace headway::timeline
