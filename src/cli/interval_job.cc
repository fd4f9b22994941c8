#include "cli/interval_job.h"

#include <algorithm>
#include <map>

#include "interval/save_meter.h"
#include "metrics/restored.h"
#include "timeline/attempt_sources.h"
#include "timeline/rank_machine.h"

namespace headway::cli {
namespace {

using event::Event;
using event::EventType;
using interval::RecordedAttempt;
using interval::SaveMeter;
using interval::Tier;
using timeline::AttemptResult;
using timeline::Kind;
using timeline::kNoTime;
using timeline::StepRecord;

constexpr std::size_t kQueuedMax = 256;

double seconds(std::int64_t ns) {
  return static_cast<double>(std::max<std::int64_t>(0, ns)) / 1e9;
}

struct Save {
  std::int64_t step = 0;
  std::int64_t first_ns = kNoTime;    // the first word of it
  std::int64_t durable_ns = kNoTime;  // the last rank's
  bool failed = false;                // it was to get to storage
};

// What all ranks say about saves.
struct Marks {
  std::vector<Save> saves;                   // by first_ns
  std::optional<std::uint32_t> rank;         // that stood still longest
  std::int64_t newest_durable_ns = kNoTime;  // the first word of the newest that became durable
};

// What is known of the job's saves after some of its attempts.
struct Habits {
  bool into_memory = false;       // some go into memory, and no further
  std::vector<double> durable_s;  // from one that got to storage to the next
  std::vector<double> all_s;      // from any to the next
  bool some_durable = false;

  // An attempt that died leaves saves behind that nobody heard more of, into memory or on their
  // way. So where some saves got to storage, those between them tell how often.
  [[nodiscard]] const std::vector<double>& between_s() const {
    return some_durable ? durable_s : all_s;
  }
};

// So that no difference of two can overflow.
std::int64_t time_of(const Event& e) {
  return std::clamp(e.t_ns, -timeline::kTimeMax, timeline::kTimeMax);
}

void take_checkpoint(std::map<std::int64_t, Save>& saves, const Event& e) {
  // Of a save that somebody spoke of before.
  if (e.name == HW_CHECKPOINT_UPLOADED) return;
  if (e.name == HW_CHECKPOINT_FAILED) {
    if (const auto known = saves.find(e.a); known != saves.end()) known->second.failed = true;
    return;
  }
  if (saves.size() >= saves_followed_max && !saves.contains(e.a)) return;
  Save& save = saves[e.a];
  save.step = e.a;
  save.first_ns = save.first_ns == kNoTime ? time_of(e) : std::min(save.first_ns, time_of(e));
  if (e.name == HW_CHECKPOINT_DURABLE) save.durable_ns = std::max(save.durable_ns, time_of(e));
}

// Time in checkpoint_blocked of the training thread.
std::int64_t blocked_ns(event::EventSource& source, std::map<std::int64_t, Save>& saves) {
  std::int64_t sum_ns = 0;
  std::int64_t since_ns = kNoTime;
  for (auto batch = source.next(); !batch.empty(); batch = source.next()) {
    for (const Event& e : batch) {
      if (e.type == EventType::checkpoint) take_checkpoint(saves, e);
      if (e.name != HW_PHASE_CHECKPOINT_BLOCKED || e.lane != 0) continue;
      if (e.type == EventType::begin && since_ns == kNoTime) since_ns = time_of(e);
      if (e.type == EventType::end && since_ns != kNoTime) {
        sum_ns += std::max<std::int64_t>(0, time_of(e) - since_ns);
        since_ns = kNoTime;
      }
    }
  }
  return sum_ns;
}

Marks read_marks(const std::vector<const event::Stream*>& streams) {
  Marks out;
  std::map<std::int64_t, Save> saves;
  std::int64_t longest_ns = -1;
  for (const timeline::RankSource& rank : timeline::open_sources(streams).ranks) {
    const std::int64_t ns = blocked_ns(*rank.source, saves);
    if (ns <= longest_ns) continue;
    longest_ns = ns;
    out.rank = rank.rank;
  }
  for (const auto& [step, save] : saves) {
    out.saves.push_back(save);
    if (save.durable_ns == kNoTime) continue;
    out.newest_durable_ns = std::max(out.newest_durable_ns, save.first_ns);
  }
  std::sort(out.saves.begin(), out.saves.end(),
            [](const Save& a, const Save& b) { return a.first_ns < b.first_ns; });
  return out;
}

// Later saves got to storage, and nothing went wrong with this one.
bool goes_into_memory(const Marks& marks) {
  return std::any_of(marks.saves.begin(), marks.saves.end(), [&](const Save& save) {
    return save.durable_ns == kNoTime && !save.failed && save.first_ns < marks.newest_durable_ns;
  });
}

// One attempt, step by step.
class Walk {
 public:
  Walk(const Marks& marks, const metrics::Window& window, SaveMeter& meter, Habits& habits,
       IntervalJob& out)
      : marks_(marks), window_(window), meter_(meter), habits_(habits), out_(out) {}

  void begin(std::int64_t loop_ns) { last_end_ns_ = loop_ns; }

  void step(const StepRecord& record) {
    const std::int64_t from_ns = std::max(last_end_ns_, window_.from_ns);
    last_end_ns_ = record.end_ns;
    if (record.end_ns <= from_ns || record.end_ns > window_.to_ns) return;
    const Carved carved = carve(record.segments, from_ns);
    begin_saves(record.end_ns);
    end_saves(record.end_ns);
    meter_.step(seconds(record.end_ns - from_ns - carved.blocked_ns - carved.other_ns));
    const double length_s = seconds(record.end_ns - from_ns);
    const double blocked_s = seconds(carved.blocked_ns);
    const double excess_s = std::min(meter_.last_excess_s(), length_s - blocked_s);
    attempt_.add_step(length_s - blocked_s - excess_s);
    attempt_.wall_s += length_s;
    out_.saving_s += blocked_s + excess_s;
    ++out_.steps;
    ++steps_;
  }

  // What followed the last step, up to the end.
  void tail(const timeline::SegmentList& segments, std::int64_t end_ns, bool failed) {
    if (steps_ == 0) return;
    end_ns = std::min(end_ns, window_.to_ns);
    const Carved carved = carve(segments, last_end_ns_, end_ns);
    begin_saves(end_ns);
    end_saves(end_ns);
    if (failed) {
      // A hang or a slow death is not training: at most a usual step was cut off.
      const double usual_s = meter_.base_step_s().value_or(
          attempt_.steps_s.empty() ? 0 : static_cast<double>(attempt_.steps_s.back()));
      cut_off_s_ =
          std::min(seconds(end_ns - last_end_ns_ - carved.blocked_ns - carved.other_ns), usual_s);
    }
    out_.saving_s += seconds(carved.blocked_ns);
    attempt_.wall_s += seconds(carved.blocked_ns) + cut_off_s_;
  }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] double cut_off_s() const { return cut_off_s_; }
  RecordedAttempt& attempt() { return attempt_; }

  // The attempt is over: what was on its way never arrived.
  void close() { meter_.lose_all(); }

 private:
  struct Carved {
    std::int64_t blocked_ns = 0;
    std::int64_t other_ns = 0;
  };

  // The parts of a step that are not training, and the blocking of saves in it.
  Carved carve(const timeline::SegmentList& segments, std::int64_t from_ns,
               std::int64_t to_ns = INT64_MAX) {
    Carved out;
    for (const timeline::Segment& s : segments) {
      const std::int64_t t0 = std::max(s.t0_ns, from_ns);
      const std::int64_t t1 = std::min(s.t1_ns, to_ns);
      if (t1 <= t0) continue;
      if (s.kind != Kind::checkpoint_blocked) {
        if (s.kind != Kind::none) out.other_ns += t1 - t0;
        continue;
      }
      begin_saves(t0);
      out.blocked_ns += t1 - t0;
      blocked_ns_ += t1 - t0;
      blocked_end_ns_ = t1;
    }
    return out;
  }

  // Saves that somebody spoke of by now take the blocking that nobody has claimed.
  void begin_saves(std::int64_t now_ns) {
    for (; begun_ < marks_.saves.size() && marks_.saves[begun_].first_ns <= now_ns; ++begun_) {
      const Save& save = marks_.saves[begun_];
      if (save.first_ns < window_.from_ns || save.first_ns >= window_.to_ns) continue;
      const std::int64_t released_ns = blocked_ns_ > 0 ? blocked_end_ns_ : save.first_ns;
      meter_.save_begun(save.step, seconds(blocked_ns_));
      blocked_ns_ = 0;
      ++out_.saves;
      note_gap(last_save_ns_, released_ns, habits_.all_s);
      if (save.durable_ns != kNoTime) {
        open_.push_back({&save, released_ns});
        note_gap(last_durable_ns_, released_ns, habits_.durable_s);
        habits_.some_durable = true;
      } else if (save.first_ns < marks_.newest_durable_ns || habits_.into_memory) {
        meter_.save_lost(save.step);  // into memory only: nobody waits for this
      }
    }
  }

  static void note_gap(std::int64_t& last_ns, std::int64_t now_ns, std::vector<double>& gaps_s) {
    if (last_ns != kNoTime) gaps_s.push_back(seconds(now_ns - last_ns));
    last_ns = now_ns;
  }

  void end_saves(std::int64_t now_ns) {
    for (const Open& open : open_) {
      if (open.save->durable_ns > now_ns) continue;
      meter_.save_durable(open.save->step, seconds(open.save->durable_ns - open.released_ns));
    }
    std::erase_if(open_, [&](const Open& open) { return open.save->durable_ns <= now_ns; });
  }

  struct Open {
    const Save* save;
    std::int64_t released_ns;
  };

  const Marks& marks_;
  const metrics::Window& window_;
  SaveMeter& meter_;
  Habits& habits_;
  IntervalJob& out_;
  RecordedAttempt attempt_;
  std::uint64_t steps_ = 0;
  double cut_off_s_ = 0;
  std::int64_t last_end_ns_ = kNoTime;
  std::size_t begun_ = 0;
  std::int64_t blocked_ns_ = 0, blocked_end_ns_ = kNoTime;
  std::vector<Open> open_;
  std::int64_t last_save_ns_ = kNoTime, last_durable_ns_ = kNoTime;
};

void walk_rank(const std::vector<const event::Stream*>& streams, std::uint32_t rank,
               const AttemptResult& attempt, std::int64_t end_ns, bool failed, Walk& walk) {
  std::vector<const event::Stream*> own;
  for (const event::Stream* stream : streams) {
    if (stream->info.rank == rank) own.push_back(stream);
  }
  timeline::AttemptSources sources = timeline::open_sources(own);
  if (sources.ranks.empty()) return;
  timeline::Facts facts;
  timeline::RankMachine machine({rank, attempt.end_ns, false}, &facts);
  bool in_loop = false;
  const auto pop_all = [&] {
    for (; machine.has_step(); machine.pop()) {
      if (!in_loop) walk.begin(machine.loop_begin_ns());
      in_loop = true;
      walk.step(machine.front());
    }
  };
  event::EventSource& source = *sources.ranks.front().source;
  for (auto batch = source.next(); !batch.empty(); batch = source.next()) {
    while (!batch.empty()) {
      batch = batch.subspan(machine.consume(batch, kQueuedMax));
      pop_all();
    }
  }
  machine.drained();
  pop_all();
  machine.finish(end_ns);
  walk.tail(machine.tail_segments(), end_ns, failed);
}

bool interrupted(const timeline::JobResult& job, std::size_t i) {
  const AttemptResult& attempt = job.attempts[i];
  return attempt.failure || (i + 1 < job.attempts.size() && timeline::is_recovery_after(attempt));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the next attempt that got to begin went on from, after the failure that ended attempt `i`.
std::optional<interval::Answer> answer_to(const timeline::JobResult& job, std::size_t i,
                                          const event::NameTable& names) {
  for (std::size_t k = i + 1; k < job.attempts.size(); ++k) {
    const AttemptResult& next = job.attempts[k];
    if (next.facts.restores.empty() && next.steps == 0) continue;
    if (next.facts.restores.empty()) return std::nullopt;  // it does not say, or began anew
    return metrics::is_memory(metrics::restored_tier(next, names)) ? interval::Answer::staged
                                                                   : interval::Answer::durable;
  }
  return std::nullopt;
}

// What hw.checkpointer says of its way to save, and it stages in memory unless it streams.
bool says_replica(const timeline::JobResult& job) {
  const auto said = job.attrs.find("checkpoints");
  return said != job.attrs.end() &&
         (said->second.starts_with("full") || said->second.starts_with("rows"));
}

void take_failure(const timeline::JobResult& job, std::size_t i, const event::NameTable& names,
                  RecordedAttempt& attempt, IntervalJob& out) {
  attempt.failure = interval::tier_of_failure(job, i);
  attempt.answer = answer_to(job, i, names);
  out.history[*attempt.failure] += 1;
  if (!attempt.answer) return;
  out.answered.add(*attempt.failure, *attempt.answer);
  if (*attempt.answer == interval::Answer::staged) out.replica = true;
}

}  // namespace

IntervalJob measure_job(const event::JobStreams& streams, const timeline::JobResult& job,
                        const metrics::Window& window) {
  static const event::NameTable no_names;
  const event::NameTable& names = streams.names ? *streams.names : no_names;
  IntervalJob out;
  out.name = job.job;
  out.replica = says_replica(job);
  out.begin_ns = std::max(window.from_ns, job.ledger.begin_ns());
  out.end_ns = std::min(window.to_ns, job.ledger.end_ns());
  SaveMeter meter;
  Habits habits;
  std::map<std::int64_t, std::vector<const event::Stream*>> streams_of;
  for (const event::Stream& stream : streams.streams) {
    streams_of[stream.info.attempt].push_back(&stream);
  }
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptResult& attempt = job.attempts[i];
    if (attempt.end_ns < window.from_ns || attempt.launch_ns >= window.to_ns) continue;
    const std::vector<const event::Stream*>& own = streams_of[attempt.id];
    const bool failed = interrupted(job, i);
    const std::int64_t end_ns = attempt.failure ? attempt.failure->t_ns : attempt.end_ns;
    const bool within = end_ns >= window.from_ns && end_ns < window.to_ns;
    const Marks marks = read_marks(own);
    habits.into_memory = habits.into_memory || goes_into_memory(marks);
    Walk walk(marks, window, meter, habits, out);
    if (marks.rank) walk_rank(own, *marks.rank, attempt, end_ns, failed, walk);
    walk.close();
    if (failed && within && walk.steps() == 0) ++out.failed_before_step;
    if (walk.steps() == 0) continue;
    if (failed && within) {
      take_failure(job, i, names, walk.attempt(), out);
      const double unsaved_s = seconds(job.unsaved_by_attempt_ns[i]);
      out.lost_s += std::min(unsaved_s + walk.cut_off_s(), walk.attempt().wall_s);
    }
    out.loop_s += walk.attempt().wall_s;
    out.attempts.push_back(std::move(walk.attempt()));
  }
  out.history.seconds = out.loop_s;
  out.cost = meter.cost();
  if (out.replica) out.cost.stage_s = out.cost.blocking_s;  // it is the same copy
  out.base_step_s = meter.base_step_s();
  out.interference_known = meter.interference_known();
  const std::vector<double>& gaps_s = habits.between_s();
  const bool known = habits.some_durable || !out.replica;  // else none got to the disk
  if (known && !gaps_s.empty()) out.used_interval_s = median(gaps_s);
  return out;
}

}  // namespace headway::cli
