// The part of an attempt before and including its first finished step.
#include <algorithm>
#include <map>
#include <utility>

#include "timeline/attempt_state.h"
#include "timeline/lay.h"

namespace headway::timeline {

// Where launcher_init begins: at the launcher's start; without it, at the nearest thing known
// before.
std::int64_t AttemptState::launch_by_facts() const {
  const Facts& f = out_.facts;
  std::int64_t first = INT64_MAX;
  for (const RankState& r : ranks_) {
    if (r.machine.any_event()) first = std::min(first, r.machine.first_event_ns());
  }
  if (f.trainer_start_ns) first = std::min(first, *f.trainer_start_ns);
  if (first == INT64_MAX) first = agent_last_ns_ != kNoTime ? agent_last_ns_ : options_.floor_ns;
  std::int64_t launch = first;
  if (f.launcher_start_ns) {
    launch = *f.launcher_start_ns;
  } else if (f.allocated_ns) {
    launch = *f.allocated_ns;
  } else if (f.resources_available_ns) {
    launch = *f.resources_available_ns;
  } else if (f.submitted_ns && launch == options_.floor_ns) {
    launch = options_.now_ns.value_or(*f.submitted_ns);  // still waiting
  }
  return std::min(std::max(launch, options_.floor_ns), options_.cut_ns);
}

bool AttemptState::stale() const {
  return late_ || (begun_ && launch_by_facts() != out_.launch_ns);
}

void AttemptState::begin_attempt() {
  if (begun_) return;
  begun_ = true;
  out_.missing_launcher_start = !out_.facts.launcher_start_ns;
  out_.launch_ns = launch_by_facts();
  cursor_ns_ = out_.launch_ns;
}

void AttemptState::add_single(std::int64_t t0, std::int64_t t1, Bucket bucket) {
  if (t1 <= t0) return;
  Piece piece;
  piece.t0_ns = t0;
  piece.t1_ns = t1;
  piece.sums[bucket] = t1 - t0;
  // Of an attempt that no rank reported from, nobody knows whether it trained.
  piece.recovery = options_.recovery && out_.steps == 0 && !ranks_.empty();
  out_.ledger.add(piece);
}

void AttemptState::begin_loop() {
  begin_attempt();
  in_loop_ = true;
  std::int64_t loop = cursor_ns_;
  for (const RankState& r : ranks_) {
    if (r.machine.loop_begin_ns() != kNoTime) loop = std::max(loop, r.machine.loop_begin_ns());
  }
  lay_init(loop);
}

// Start-up: at every gate (the last rank's end of a stage) the rank that came last is charged for
// the time since the gate before.
void AttemptState::lay_init(std::int64_t to_ns) {
  struct Gate {
    std::int64_t t_ns;
    const RankState* rank;
    std::int64_t second_ns;
    event::PhaseId phase;
  };
  std::map<std::pair<event::PhaseId, std::uint32_t>, Gate> gates;
  Gate last{kNoTime, nullptr, kNoTime, 0};
  for (const RankState& r : ranks_) {
    if (!r.machine.any_event()) continue;
    const auto meet = [&](Gate& gate, std::int64_t t) {
      if (gate.rank == nullptr || t > gate.t_ns) {
        if (gate.rank != nullptr) gate.second_ns = gate.t_ns;
        gate.t_ns = t;
        gate.rank = &r;
      } else {
        gate.second_ns = std::max(gate.second_ns, t);
      }
    };
    for (const StageGate& g : r.machine.gates()) {
      auto [slot, fresh] =
          gates.try_emplace({g.phase, g.occurrence}, Gate{0, nullptr, kNoTime, g.phase});
      meet(slot->second, g.end_ns);
    }
    // Who entered the loop last; or, where nobody did, who was heard of last.
    meet(last, in_loop_ ? r.machine.loop_begin_ns() : r.machine.last_event_ns());
  }
  std::vector<Gate> order;
  for (const auto& [key, gate] : gates) order.push_back(gate);
  std::stable_sort(order.begin(), order.end(),
                   [](const Gate& a, const Gate& b) { return a.t_ns < b.t_ns; });
  last.t_ns = to_ns;
  order.push_back(last);
  for (const Gate& gate : order) {
    const std::int64_t to = std::clamp(gate.t_ns, cursor_ns_, to_ns);
    static const SegmentList nothing;
    const SegmentList& segments = gate.rank ? gate.rank->machine.init_segments() : nothing;
    lay(segments.begin(), segments.end(), cursor_ns_, to,
        [&](Kind k, std::int64_t t0, std::int64_t t1) { add_single(t0, t1, init_bucket(k)); });
    cursor_ns_ = to;
    if (gate.phase != 0 && gate.second_ns != kNoTime) {
      out_.critical_stages.push_back(
          {gate.phase, gate.rank->share.rank, gate.t_ns - gate.second_ns});
    }
  }
  if (ranks_.size() < 2) return;
  for (RankState& r : ranks_) {
    if (!r.trains()) continue;  // its whole life is laid at the end
    const std::int64_t own = std::clamp(r.machine.loop_begin_ns(), out_.launch_ns, to_ns);
    const SegmentList& segments = r.machine.init_segments();
    lay(segments.begin(), segments.end(), out_.launch_ns, own,
        [&](Kind k, std::int64_t t0, std::int64_t t1) { r.share.sums[init_bucket(k)] += t1 - t0; });
    r.cursor_ns = own;
  }
}

void AttemptState::first_step(const StepRecord& step, std::int64_t to, Bucket train) {
  const std::int64_t from = cursor_ns_;
  std::int64_t trained = from;
  std::vector<Piece> pieces;
  lay(step.segments.begin(), step.segments.end(), from, to,
      [&](Kind k, std::int64_t t0, std::int64_t t1) {
        if (k == Kind::compile_cold || k == Kind::compile_warm) trained = t1;
        if (k == Kind::none && train == Bucket::effective && !out_.first_effective_ns) {
          out_.first_effective_ns = t0;
        }
        Piece piece;
        piece.t0_ns = t0;
        piece.t1_ns = t1;
        const Bucket bucket = loop_bucket(k, true, train);
        piece.sums[bucket] = t1 - t0;
        piece.recovery = options_.recovery;
        if (bucket == train) piece.train_ns = t1 - t0;
        out_.train_ns += piece.train_ns;
        pieces.push_back(piece);
      });
  if (pieces.empty()) {
    Piece piece;
    piece.t0_ns = piece.t1_ns = from;
    pieces.push_back(piece);
  }
  pieces.back().steps = 1;
  for (Piece& piece : pieces) {
    piece.data_end = position(step);
    out_.ledger.add(piece);
  }
  out_.first_trained_ns = trained;
  out_.step_times.add(out_.train_ns);
}

}  // namespace headway::timeline
