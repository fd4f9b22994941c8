#include "timeline/job.h"

#include <algorithm>

#include "base/check.h"
#include "base/saturate.h"

namespace headway::timeline {
namespace {

using StreamsByAttempt = std::map<std::int64_t, std::vector<const event::Stream*>>;

StreamsByAttempt by_attempt(const event::JobStreams& job) {
  StreamsByAttempt out;
  for (const event::Stream& stream : job.streams) out[stream.info.attempt].push_back(&stream);
  return out;
}

// When each attempt takes over: the launch of a higher one cuts every lower one.
std::map<std::int64_t, std::int64_t> cuts(const StreamsByAttempt& attempts) {
  std::map<std::int64_t, std::int64_t> out;
  std::int64_t cut = INT64_MAX;
  for (auto it = attempts.rbegin(); it != attempts.rend(); ++it) {
    out[it->first] = cut;
    std::optional<std::int64_t> launch;
    std::optional<std::int64_t> first;
    for (const event::Stream* stream : it->second) {
      const Prescan seen = prescan(*stream);
      const auto keep = [](std::optional<std::int64_t>& slot, std::optional<std::int64_t> t) {
        if (t) slot = slot ? std::min(*slot, *t) : *t;
      };
      keep(launch, seen.launcher_start_ns);
      keep(first, seen.first_trainer_event_ns);
    }
    if (!launch) launch = first;
    if (launch) cut = std::min(cut, std::clamp(*launch, -kTimeMax, kTimeMax));
  }
  return out;
}

// An empty journal says nothing.
bool says_anything(const AttemptResult& attempt) {
  const Facts& f = attempt.facts;
  return attempt.any_event || f.submitted_ns || f.resources_available_ns || f.allocated_ns;
}

class Joiner {
 public:
  explicit Joiner(JobResult& out) : out_(out) {}

  // Lays what precedes the attempt's launch, then the attempt itself.
  void join(AttemptResult attempt) {
    const bool first = out_.attempts.empty();
    const Facts& f = attempt.facts;
    const std::int64_t launch = attempt.launch_ns;
    const std::int64_t floor = first ? -kTimeMax : end_ns_;
    const auto clamped = [&](std::int64_t t) { return std::clamp(t, floor, launch); };

    // The beginning of this attempt's wall: the first thing known of its resources.
    const std::int64_t ready = f.resources_available_ns ? clamped(*f.resources_available_ns)
                               : f.allocated_ns         ? clamped(*f.allocated_ns)
                                                        : launch;
    const std::int64_t allocated =
        f.allocated_ns ? std::max(clamped(*f.allocated_ns), ready) : launch;
    std::int64_t down_ns = 0;
    if (first) {
      if (f.submitted_ns)
        stay_out(std::min(std::clamp(*f.submitted_ns, -kTimeMax, kTimeMax), ready), ready, true);
    } else {
      const bool requeued = allocation_of(attempt.id) != allocation_of(out_.attempts.back().id) ||
                            (f.resources_available_ns && *f.resources_available_ns >= end_ns_) ||
                            (f.submitted_ns && *f.submitted_ns >= end_ns_);
      if (requeued) {
        // Where nothing says when it was asked for, a scheduler had it all the time.
        const std::int64_t asked =
            f.submitted_ns ? std::clamp(*f.submitted_ns, end_ns_, ready) : end_ns_;
        stay_out(end_ns_, asked, false);
        stay_out(asked, ready, true);
      } else {
        down_ns = ready - end_ns_;
        // Nothing said when the attempt before ended: all of this is inferred.
        if (out_.attempts.back().facts.anomalies.missing_ends > 0) out_.gap_ns += down_ns;
        add(end_ns_, ready, Bucket::down, true);
      }
    }
    const bool recovery = !first && is_recovery_after(out_.attempts.back());
    add(ready, allocated, Bucket::scheduling, recovery);
    // A missing launcher_start has moved the launch back to `allocated` already.
    add(allocated, launch, Bucket::hardware_setup, recovery);
    out_.ledger.append(attempt.ledger);
    end_ns_ = std::max(attempt.end_ns, launch);
    out_.down_before_ns.push_back(down_ns + (first ? 0 : launch - ready));
    out_.overlap_ns = base::add_saturated(out_.overlap_ns, attempt.overlap_ns);
    if (!out_.allocated_ns && f.allocated_ns) out_.allocated_ns = allocated;
    if (first) note_missing(f);
    out_.attempts.push_back(std::move(attempt));
  }

 private:
  void add(std::int64_t t0, std::int64_t t1, Bucket bucket, bool recovery) {
    if (t1 <= t0) return;
    Piece piece;
    piece.t0_ns = t0;
    piece.t1_ns = t1;
    piece.sums[bucket] = t1 - t0;
    piece.recovery = recovery;
    out_.ledger.add(piece);
  }
  void stay_out(std::int64_t t0, std::int64_t t1, bool queued) {
    if (t1 > t0) out_.outside.push_back({t0, t1, queued});
  }
  void note_missing(const Facts& f) {
    if (!f.resources_available_ns) out_.missing_marks.emplace_back("resources_available");
    if (!f.allocated_ns) out_.missing_marks.emplace_back("allocated");
    if (!f.launcher_start_ns) out_.missing_marks.emplace_back("launcher_start");
  }

  JobResult& out_;
  std::int64_t end_ns_ = -kTimeMax;
};

// The position that the attempt started from, in the job's unit: what it says it restored, else the
// one before its first step; nullopt when it never got that far.
std::optional<std::int64_t> start_position(const AttemptResult& a, bool use_steps) {
  const Position* restored = nullptr;
  for (const Position& p : a.facts.restores) {
    if (a.first_trained_ns && p.t_ns > *a.first_trained_ns) continue;
    if (restored == nullptr || p.t_ns >= restored->t_ns) restored = &p;
  }
  if (restored != nullptr) {
    if (use_steps) return restored->step;
    if (restored->data != HW_NO_DATA) return restored->data;
  }
  if (a.steps == 0) return std::nullopt;
  // One typical step before the first.
  const std::int64_t size =
      a.steps > 1 && a.second_data > a.first_data ? a.second_data - a.first_data : 1;
  return a.first_data > INT64_MIN + size ? a.first_data - size : a.first_data;
}

// Where a save that states only its step lies, as far as its attempt remembers.
std::optional<std::int64_t> durable_position(const AttemptResult& a, bool use_steps) {
  if (!a.facts.last_durable) return std::nullopt;
  const Position& p = *a.facts.last_durable;
  if (use_steps) return p.step;
  if (p.data != HW_NO_DATA) return p.data;
  const auto known = a.saved_data.find(p.step);
  return known == a.saved_data.end() ? std::nullopt : std::optional(known->second);
}

void reckon_unsaved(JobResult& out) {
  std::int64_t durable = INT64_MIN;  // the newest so far, over all attempts
  for (std::size_t i = 0; i < out.attempts.size(); ++i) {
    const AttemptResult& a = out.attempts[i];
    if (const auto p = durable_position(a, out.used_step_numbers)) durable = std::max(durable, *p);
    std::int64_t unsaved = 0;
    if (a.outcome == Outcome::failed) {
      std::optional<std::int64_t> restored;
      for (std::size_t k = i + 1; k < out.attempts.size() && !restored; ++k) {
        restored = start_position(out.attempts[k], out.used_step_numbers);
      }
      unsaved = a.unsaved_beyond(restored.value_or(durable));
    }
    out.unsaved_by_attempt_ns.push_back(unsaved);
    out.unsaved_ns += unsaved;
  }
}

void describe(JobResult& out, const event::NameTable& names) {
  for (const AttemptResult& a : out.attempts) {
    for (const auto& [key, value] : a.facts.attrs) {
      out.attrs[std::string(names.text(key))] = std::string(names.text(value));
    }
    for (const auto& [name, ns] : a.user_spans) {
      std::int64_t& slot = out.user_spans[std::string(names.text(name))];
      slot = base::add_saturated(slot, ns);
    }
  }
}

}  // namespace

std::int64_t JobResult::outside_ns(bool queued, std::int64_t from_ns, std::int64_t to_ns) const {
  std::int64_t sum = 0;
  for (const Outside& o : outside) {
    if (o.queued != queued) continue;
    const std::int64_t ns = std::min(o.t1_ns, to_ns) - std::max(o.t0_ns, from_ns);
    sum = base::add_saturated(sum, std::max<std::int64_t>(0, ns));
  }
  return sum;
}

JobResult join_attempts(const std::string& job, std::vector<AttemptResult> attempts, bool use_steps,
                        const event::NameTable* names) {
  JobResult out;
  out.job = job;
  out.used_step_numbers = use_steps;
  Joiner joiner(out);
  for (AttemptResult& attempt : attempts) joiner.join(std::move(attempt));
  out.ledger.seal();
  HW_CHECK(out.attempts.size() == out.down_before_ns.size());
  if (!out.attempts.empty()) out.running = out.attempts.back().outcome == Outcome::running;
  reckon_unsaved(out);
  if (names != nullptr) describe(out, *names);
  return out;
}

EarlierAttempts attribute_earlier(const event::JobStreams& job, bool use_steps) {
  EarlierAttempts out;
  const StreamsByAttempt attempts = by_attempt(job);
  const std::map<std::int64_t, std::int64_t> cut_of = cuts(attempts);
  AttemptOptions& o = out.next;
  o.use_steps = use_steps;
  for (const auto& [id, streams] : attempts) {
    o.id = id;
    o.cut_ns = std::max(cut_of.at(id), o.floor_ns);
    o.recovery = !out.attempts.empty() && is_recovery_after(out.attempts.back());
    o.last = id == attempts.rbegin()->first;
    if (o.last) {
      out.next_streams = streams;
      break;
    }
    AttemptResult result = attribute_attempt(streams, o);
    if (!says_anything(result)) continue;
    out.missing_data |= result.missing_data;
    o.high_water = result.high_water;
    o.floor_ns = std::max(result.end_ns, result.launch_ns);
    out.attempts.push_back(std::move(result));
  }
  return out;
}

JobResult attribute_job(const event::JobStreams& job, const JobOptions& options) {
  // Positions are comparable only in one unit: if any step lacks `data`, numbers serve for the job.
  for (const bool use_steps : {false, true}) {
    EarlierAttempts found = attribute_earlier(job, use_steps);
    if (!found.next_streams.empty()) {
      found.next.now_ns = options.now_ns;
      AttemptResult last = attribute_attempt(found.next_streams, found.next);
      found.missing_data |= last.missing_data;
      if (says_anything(last)) found.attempts.push_back(std::move(last));
    }
    if (found.missing_data && !use_steps) continue;
    return join_attempts(job.job, std::move(found.attempts), use_steps, job.names.get());
  }
  HW_CHECK(false);
  return {};
}

}  // namespace headway::timeline
