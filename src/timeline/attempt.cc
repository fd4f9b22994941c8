#include "timeline/attempt.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/saturate.h"
#include "timeline/attempt_end.h"
#include "timeline/attempt_sources.h"
#include "timeline/lay.h"
#include "timeline/rank_machine.h"

namespace headway::timeline {
namespace {

using event::Event;

constexpr std::size_t kPullSteps = 64;      // queued steps that one pull aims at
constexpr std::size_t kRecentSteps = 4096;  // steps whose position is remembered exactly
constexpr std::size_t kSavedMax = 256;      // saves whose position is kept

struct RankState {
  RankState(RankSource source, const MachineOptions& options, Facts* facts)
      : in(std::move(source)), machine(options, facts) {
    share.rank = in.rank;
    share.host = in.host;
  }
  RankSource in;
  RankMachine machine;
  std::span<const Event> batch;
  std::size_t at = 0;
  bool exhausted = false;
  RankShare share;
  std::int64_t cursor_ns = kNoTime;  // up to where share.sums goes

  void pull(std::size_t want) {
    while (!exhausted && machine.queued() < want) {
      if (at == batch.size()) {
        batch = in.source->next();
        at = 0;
        if (batch.empty()) {
          exhausted = true;
          machine.drained();
          return;
        }
      }
      machine.consume(batch[at++]);
    }
  }
  [[nodiscard]] bool trains() const {
    return machine.has_step() || machine.loop_begin_ns() != kNoTime;
  }
};

class Combiner {
 public:
  Combiner(AttemptSources sources, const AttemptOptions& options, bool device_times)
      : options_(options), agents_(std::move(sources.agents)) {
    out_.id = options.id;
    out_.high_water = options.high_water;
    out_.ranks_expected = sources.world_size;
    for (RankSource& source : sources.ranks) {
      const MachineOptions machine{source.rank, options.cut_ns, device_times};
      ranks_.emplace_back(std::move(source), machine, &out_.facts);
    }
  }

  AttemptResult run() {
    read_agents();
    for (RankState& r : ranks_) r.pull(kPullSteps);
    while (combine_next()) {
    }
    close();
    return std::move(out_);
  }

 private:
  void read_agents();
  bool combine_next();
  bool ended_by_all(std::int64_t generation, std::int64_t number);
  void begin_attempt();
  void begin_loop();
  void lay_init(std::int64_t to_ns);
  void take_step(RankState& decider, std::int64_t held_up_ns);
  void first_step(const StepRecord& step, Bucket train);
  void remember_position(const StepRecord& step, std::int64_t data);
  void note_saves();
  void save_position(const Position& p);
  void close();
  void lay_tail(const AttemptEnd& end);
  RankState* tail_decider(const AttemptEnd& end);
  void settle(const AttemptEnd& end);
  static std::vector<Segment> rest_of(RankState& r);
  [[nodiscard]] Bucket tail_bucket(Kind kind, const AttemptEnd& end) const;
  [[nodiscard]] std::int64_t position(const StepRecord& s) const {
    return options_.use_steps || s.data == HW_NO_DATA ? s.step : s.data;
  }
  void add_single(std::int64_t t0, std::int64_t t1, Bucket bucket) {
    if (t1 <= t0) return;
    Piece piece;
    piece.t0_ns = t0;
    piece.t1_ns = t1;
    piece.sums[bucket] = t1 - t0;
    piece.recovery = options_.later && out_.steps == 0;
    out_.ledger.add(piece);
  }

  AttemptOptions options_;
  std::vector<std::unique_ptr<event::EventSource>> agents_;
  std::deque<RankState> ranks_;
  AttemptResult out_;
  bool begun_ = false;
  bool in_loop_ = false;
  std::int64_t cursor_ns_ = 0;  // the ledger is written up to here
  std::int64_t agent_last_ns_ = kNoTime;
  std::int64_t agent_beyond_ns_ = kNoTime;
  struct Recent {
    std::int64_t step, data, train_ns;
  };
  std::deque<Recent> recent_;
  std::uint64_t saves_seen_ = 0;
  std::int64_t durable_seen_ = INT64_MIN;
  std::vector<Position> awaited_;
};

void Combiner::read_agents() {
  for (const auto& agent : agents_) {
    for (auto batch = agent->next(); !batch.empty(); batch = agent->next()) {
      for (Event e : batch) {
        e.t_ns = std::clamp(e.t_ns, -kTimeMax, kTimeMax);
        if (e.type != event::EventType::attr && e.t_ns > options_.cut_ns) {
          agent_beyond_ns_ = std::max(agent_beyond_ns_, e.t_ns);
          ++out_.facts.anomalies.events_after_end;
          continue;
        }
        out_.facts.take(e, event::kAgentRank);
        if (e.type == event::EventType::attr) continue;
        const bool before_launch = e.type == event::EventType::mark && e.name <= HW_MARK_ALLOCATED;
        if (!before_launch) agent_last_ns_ = std::max(agent_last_ns_, e.t_ns);
      }
    }
  }
}

// Where launcher_init begins: at the launcher's start; without it, at the nearest thing known
// before.
void Combiner::begin_attempt() {
  if (begun_) return;
  begun_ = true;
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
  out_.missing_launcher_start = !f.launcher_start_ns;
  launch = std::min(std::max(launch, options_.floor_ns), options_.cut_ns);
  out_.launch_ns = launch;
  cursor_ns_ = launch;
}

// Combines the lowest step that any rank has finished. False when no further step was finished by
// all ranks.
bool Combiner::combine_next() {
  const StepRecord* key = nullptr;
  for (const RankState& r : ranks_) {
    if (!r.machine.has_step()) continue;
    const StepRecord& s = r.machine.front();
    if (key == nullptr || std::pair(s.generation, s.step) < std::pair(key->generation, key->step)) {
      key = &s;
    }
  }
  if (key == nullptr) return false;

  RankState* decider = nullptr;
  std::int64_t second_ns = kNoTime;
  bool all_there = true;
  const std::int64_t generation = key->generation;
  const std::int64_t number = key->step;
  for (RankState& r : ranks_) {
    const bool has = r.machine.has_step() && r.machine.front().generation == generation &&
                     r.machine.front().step == number;
    if (!has) {
      if (r.trains()) all_there = false;
      continue;
    }
    const std::int64_t end = r.machine.front().end_ns;
    if (decider == nullptr || end > decider->machine.front().end_ns) {
      if (decider != nullptr) second_ns = decider->machine.front().end_ns;
      decider = &r;
    } else {
      second_ns = std::max(second_ns, end);
    }
  }
  if (!all_there && !ended_by_all(generation, number)) return false;
  const std::int64_t decider_end = decider->machine.front().end_ns;
  take_step(*decider, second_ns == kNoTime ? 0 : decider_end - second_ns);
  for (RankState& r : ranks_) {
    if (r.machine.has_step() && r.machine.front().generation == generation &&
        r.machine.front().step == number) {
      r.machine.pop();
      if (!r.machine.has_step()) r.pull(kPullSteps);
    }
  }
  return true;
}

// A rank that has no record of a step still ended it if somebody got through the next one (ranks
// train in step): its journal lost something, or it ended early. Otherwise nobody finished it.
bool Combiner::ended_by_all(std::int64_t generation, std::int64_t number) {
  bool somebody_went_on = false;
  bool everyone_else_is_ahead = true;
  for (RankState& r : ranks_) {
    if (!r.trains()) continue;
    if (!r.machine.has_step()) {
      everyone_else_is_ahead = false;
      continue;
    }
    const bool has = r.machine.front().generation == generation && r.machine.front().step == number;
    if (!has) continue;
    r.pull(std::max<std::size_t>(2, r.machine.queued()));
    if (r.machine.queued() >= 2) somebody_went_on = true;
  }
  if (!somebody_went_on && !everyone_else_is_ahead) return false;
  ++out_.facts.anomalies.partial_steps;
  return true;
}

void Combiner::take_step(RankState& decider, std::int64_t held_up_ns) {
  if (!in_loop_) begin_loop();
  const StepRecord& step = decider.machine.front();
  const std::int64_t data = position(step);
  const bool is_new = data > out_.high_water;
  const Bucket train = is_new ? Bucket::effective : Bucket::wasted_replay;
  const std::int64_t from = cursor_ns_;
  const std::int64_t to = std::max(from, step.end_ns);

  if (ranks_.size() > 1) {
    for (RankState& r : ranks_) {
      if (!r.machine.has_step()) continue;
      const StepRecord& own = r.machine.front();
      if (own.generation != step.generation || own.step != step.step) continue;
      const bool first = r.share.steps == 0;
      const std::int64_t own_end = std::max(r.cursor_ns, own.end_ns);
      lay(own.segments.begin(), own.segments.end(), r.cursor_ns, own_end,
          [&](Kind k, std::int64_t t0, std::int64_t t1) {
            r.share.sums[loop_bucket(k, first, train)] += t1 - t0;
          });
      r.cursor_ns = own_end;
      ++r.share.steps;
    }
    ++decider.share.critical_steps;
    decider.share.held_up_ns = base::add_saturated(decider.share.held_up_ns, held_up_ns);
  }

  if (out_.steps == 0) {
    first_step(step, train);
  } else {
    Piece piece;
    piece.t0_ns = from;
    piece.t1_ns = to;
    piece.steps = 1;
    piece.data_end = data;
    lay(step.segments.begin(), step.segments.end(), from, to,
        [&](Kind k, std::int64_t t0, std::int64_t t1) {
          if (is_new && !out_.first_effective_ns && k == Kind::none) out_.first_effective_ns = t0;
          piece.sums[loop_bucket(k, false, train)] += t1 - t0;
        });
    piece.train_ns = piece.sums[train];
    out_.train_ns += piece.train_ns;
    out_.ledger.add_step(piece);
  }
  out_.step_times.add(to - from);
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
  remember_position(step, data);
}

void Combiner::first_step(const StepRecord& step, Bucket train) {
  const std::int64_t from = cursor_ns_;
  const std::int64_t to = std::max(from, step.end_ns);
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
        piece.recovery = options_.later;
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
}

void Combiner::begin_loop() {
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
void Combiner::lay_init(std::int64_t to_ns) {
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
      out_.critical_stages.push_back({gate.phase, gate.rank->in.rank, gate.t_ns - gate.second_ns});
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

void Combiner::remember_position(const StepRecord& step, std::int64_t data) {
  recent_.push_back({step.step, data, out_.train_ns});
  if (recent_.size() > kRecentSteps) recent_.pop_front();
  if (!awaited_.empty()) {
    std::erase_if(awaited_, [&](const Position& p) {
      if (p.step > step.step) return false;
      save_position(p);
      return true;
    });
  }
  const std::int64_t durable = out_.facts.last_durable ? out_.facts.last_durable->step : INT64_MIN;
  if (out_.facts.saves != saves_seen_ || durable != durable_seen_) {
    saves_seen_ = out_.facts.saves;
    durable_seen_ = durable;
    note_saves();
  }
}

void Combiner::note_saves() {
  for (const auto* save : {&out_.facts.last_durable, &out_.facts.last_staged}) {
    if (!*save) continue;
    if (recent_.empty() || (*save)->step > recent_.back().step) {
      if (awaited_.size() < kSavedMax) awaited_.push_back(**save);
    } else {
      save_position(**save);
    }
  }
}

void Combiner::save_position(const Position& p) {
  for (auto r = recent_.rbegin(); r != recent_.rend(); ++r) {
    if (r->step > p.step) continue;
    out_.saved_train_ns[r->data] = r->train_ns;
    if (out_.saved_train_ns.size() > kSavedMax)
      out_.saved_train_ns.erase(out_.saved_train_ns.begin());
    return;
  }
}

// Segments of a rank since the last step that all ranks finished.
std::vector<Segment> Combiner::rest_of(RankState& r) {
  std::vector<Segment> out;
  RankMachine& machine = r.machine;
  while (machine.has_step()) {
    out.insert(out.end(), machine.front().segments.begin(), machine.front().segments.end());
    machine.pop();
  }
  out.insert(out.end(), machine.tail_segments().begin(), machine.tail_segments().end());
  return out;
}

Bucket Combiner::tail_bucket(Kind kind, const AttemptEnd& end) const {
  if (end.outcome == Outcome::clean) return shutdown_bucket(kind);
  const Bucket train = end.outcome == Outcome::failed ? Bucket::wasted_interrupted_step
                       : out_.steps > 0 && out_.last_data < out_.high_water ? Bucket::wasted_replay
                                                                            : Bucket::effective;
  return loop_bucket(kind, out_.steps == 0, train);
}

RankState* Combiner::tail_decider(const AttemptEnd& end) {
  RankState* latest = nullptr;
  for (RankState& r : ranks_) {
    if (!r.machine.any_event()) continue;
    if (end.failure && end.failure->info.rank == r.in.rank) return &r;
    if (latest == nullptr || r.machine.last_event_ns() > latest->machine.last_event_ns())
      latest = &r;
  }
  return latest;
}

void Combiner::lay_tail(const AttemptEnd& end) {
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

  if (ranks_.size() < 2) return;
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

void Combiner::close() {
  begin_attempt();
  note_saves();
  std::int64_t last = agent_last_ns_;
  for (const RankState& r : ranks_) {
    if (r.machine.any_event()) last = std::max(last, r.machine.last_event_ns());
  }
  out_.any_event = last != kNoTime;
  last = std::max(last, cursor_ns_);
  const AttemptEnd end =
      judge_end(out_.facts, options_, last, out_.steps > 0 ? cursor_ns_ : kNoTime);
  for (RankState& r : ranks_) r.machine.finish(std::max(end.work_end_ns, cursor_ns_));
  lay_tail(end);
  settle(end);
}

void Combiner::settle(const AttemptEnd& end) {
  out_.end_ns = cursor_ns_;
  out_.outcome = end.outcome;
  out_.failure = end.failure;
  if (out_.failure)
    out_.failure->t_ns = std::clamp(out_.failure->t_ns, out_.launch_ns, out_.end_ns);
  if (end.inferred) ++out_.facts.anomalies.missing_ends;
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
    for (const auto& part : r.in.source->parts())
      out_.streams.push_back({part->info(), part->loss()});
  }
  for (const auto& agent : agents_) out_.streams.push_back({agent->info(), agent->loss()});
  if (beyond != kNoTime && options_.cut_ns != INT64_MAX) {
    out_.overlap_ns = std::max<std::int64_t>(0, beyond - std::max(options_.cut_ns, out_.launch_ns));
  }
  out_.ranks_expected = std::max(out_.ranks_expected, out_.ranks_reporting);
}

}  // namespace

std::int64_t AttemptResult::unsaved_beyond(std::int64_t data) const {
  if (steps == 0 || data >= last_data) return 0;
  if (data < first_data) return train_ns;
  if (const auto saved = saved_train_ns.find(data); saved != saved_train_ns.end()) {
    return train_ns - saved->second;
  }
  return std::clamp<std::int64_t>(train_ns - ledger.train_ns_up_to(data), 0, train_ns);
}

AttemptResult attribute_attempt(const std::vector<const event::Stream*>& streams,
                                const AttemptOptions& options) {
  bool device_times = false;
  for (const event::Stream* stream : streams) {
    if (stream->info.rank != event::kAgentRank) device_times |= prescan(*stream).device_times;
  }
  return Combiner(open_sources(streams), options, device_times).run();
}

}  // namespace headway::timeline
