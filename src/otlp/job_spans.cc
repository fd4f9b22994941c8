#include "otlp/job_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "fleet/bucket_words.h"
#include "timeline/lane.h"

namespace headway::otlp {
namespace {

using fleet::AttemptFacts;
using timeline::JobResult;

// The first bytes of a digest of all the parts; never all zero, which would be no identifier.
template <typename Id>
Id id_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += fmt::format("{}:{}", part.size(), part);
  const base::Sha256 digest = base::sha256(std::as_bytes(std::span(text)));
  Id id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  if (std::ranges::all_of(id, [](std::uint8_t b) { return b == 0; })) id.back() = 1;
  return id;
}

SpanId job_id(std::string_view tenant, std::string_view job) {
  return id_of<SpanId>({"headway.job", tenant, job});
}

SpanId attempt_id(std::string_view tenant, std::string_view job, std::int64_t attempt) {
  return id_of<SpanId>({"headway.attempt", tenant, job, std::to_string(attempt)});
}

std::string shown(const SpanOptions& options, std::string_view key, std::string_view text) {
  return options.rule ? options.rule(key, text) : std::string(text);
}

void put_times(Attributes& out, const timeline::Sums& sums) {
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    if (sums.ns[i] == 0) continue;
    const auto word = fleet::bucket_word(static_cast<timeline::Bucket>(i));
    out.push_back({fmt::format("headway.time.{}_ns", word), sums.ns[i]});
  }
}

void put_dimensions(Attributes& out, const AttemptFacts& facts, const SpanOptions& options) {
  for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
    if (facts.dimensions[i].empty()) continue;
    const auto name = fleet::dimension_name(static_cast<fleet::Dimension>(i));
    out.push_back({fmt::format("headway.{}", name), shown(options, name, facts.dimensions[i])});
  }
  out.push_back({"headway.devices", std::int64_t{facts.devices}});
}

struct Between {
  std::int64_t from_ns = 0, to_ns = 0;
};

// As fleet::facts_of slices it: from the end of the attempt before to its own.
Between bounds_of(const JobResult& job, std::size_t at) {
  std::int64_t from_ns = job.ledger.begin_ns();
  if (!job.outside.empty()) from_ns = std::min(from_ns, job.outside.front().t0_ns);
  for (std::size_t i = 0; i < at; ++i) from_ns = std::max(from_ns, job.attempts[i].end_ns);
  const bool last = at + 1 == job.attempts.size();
  const std::int64_t to_ns = last ? job.ledger.end_ns() : job.attempts[at].end_ns;
  return {from_ns, std::max(from_ns, to_ns)};
}

// Stages of one attempt, in order of time.
class Stages {
 public:
  Stages(const JobAccount& job, std::size_t at, const SpanOptions& options, const Span& parent)
      : job_(job.result),
        attempt_(std::to_string(job.result.attempts[at].id)),
        tenant_(options.tenant),
        parent_(parent) {}

  // One span for every run of a bucket; the time outside the wall between them.
  void each(const Between& part) {
    if (part.from_ns >= part.to_ns) return;
    const timeline::Lane lane = timeline::ledger_lane(
        job_.ledger, {part.from_ns, part.to_ns, static_cast<std::uint32_t>(stages_max)});
    std::vector<Span> found;
    for (const timeline::LaneSegment& segment : lane.segments) {
      add(found, fleet::bucket_word(segment.bucket), segment.t0_ns, segment.t1_ns);
      if (!lane.exact) found.back().attributes.push_back({"headway.exact", false});
    }
    for (const timeline::Outside& outside : job_.outside) {
      const std::int64_t t0 = std::max(outside.t0_ns, part.from_ns);
      const std::int64_t t1 = std::min(outside.t1_ns, part.to_ns);
      if (t0 < t1) add(found, outside.queued ? "queued" : "not_asked_for", t0, t1);
    }
    std::ranges::stable_sort(found, {}, &Span::begin_ns);
    std::ranges::move(found, std::back_inserter(spans_));
  }

  void training(const Between& part) {
    if (part.from_ns >= part.to_ns) return;
    add(spans_, "training", part.from_ns, part.to_ns);
    put_times(spans_.back().attributes, job_.ledger.window(part.from_ns, part.to_ns).sums);
  }

  [[nodiscard]] std::vector<Span> take() { return std::move(spans_); }

 private:
  void add(std::vector<Span>& to, std::string_view name, std::int64_t t0, std::int64_t t1) {
    Span& span = to.emplace_back();
    span.trace = parent_.trace;
    span.parent = parent_.id;
    span.name = name;
    const std::string number = std::to_string(++counts_[span.name]);
    span.id = id_of<SpanId>({"headway.stage", tenant_, job_.job, attempt_, name, number});
    span.begin_ns = t0;
    span.end_ns = t1;
  }

  const JobResult& job_;
  const std::string attempt_;
  const std::string_view tenant_;
  const Span& parent_;
  std::map<std::string, int> counts_;  // of a name, so far
  std::vector<Span> spans_;
};

// Where nothing follows but the end: shutdown, and waiting for the next attempt.
std::int64_t tail_of(const JobResult& job, const Between& part) {
  std::int64_t tail_ns = part.to_ns;
  const auto& pieces = job.ledger.pieces();
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (piece->t0_ns >= part.to_ns) continue;
    const std::int64_t ending_ns =
        piece->sums.group(timeline::Group::shutdown) + piece->sums.group(timeline::Group::down);
    if (piece->t1_ns <= part.from_ns || ending_ns != piece->sums.total()) break;
    tail_ns = std::max(piece->t0_ns, part.from_ns);
  }
  return tail_ns;
}

SpanEvent failure_event(const JobAccount& job, std::size_t at, const SpanOptions& options) {
  const timeline::Failure& failure = *job.result.attempts[at].failure;
  const fleet::FailureFact& fact = *job.facts[at].failure;
  SpanEvent out{fact.t_ns, "headway.failure", {}};
  const std::string origin(fleet::origin_name(fact.origin));
  out.attributes = {
      {"error.type", fact.category.empty() ? origin : shown(options, {}, fact.category)},
      {"headway.failure.origin", origin},
      {"headway.failure.lost_ns", fact.lost_ns},
      {"headway.failure.unsaved_ns", fact.unsaved_ns}};
  if (!fact.host.empty()) out.attributes.push_back({"host.name", fact.host});
  if (failure.info.rank != HW_RANK_UNKNOWN) {
    out.attributes.push_back({"headway.failure.rank", std::int64_t{failure.info.rank}});
  }
  if (failure.info.signal != 0) {
    out.attributes.push_back({"headway.failure.signal", std::int64_t{failure.info.signal}});
  } else {
    out.attributes.push_back({"process.exit.code", std::int64_t{failure.info.exit_code}});
  }
  if (failure.info.reason != 0) {
    out.attributes.push_back(
        {"exception.message", shown(options, {}, job.names.text(failure.info.reason))});
  }
  return out;
}

std::string_view ending_word(fleet::Ending ending) {
  switch (ending) {
    case fleet::Ending::running:
      return "running";
    case fleet::Ending::clean:
      return "clean";
    case fleet::Ending::failed:
      break;
  }
  return "failed";
}

Span attempt_span(const JobAccount& job, std::size_t at, const SpanOptions& options) {
  const AttemptFacts& facts = job.facts[at];
  const Between bounds = bounds_of(job.result, at);
  Span span;
  span.trace = trace_of(options.tenant, job.result.job);
  span.id = attempt_id(options.tenant, job.result.job, facts.attempt);
  span.parent = job_id(options.tenant, job.result.job);
  span.name = fmt::format("attempt {}", facts.attempt);
  span.begin_ns = bounds.from_ns;
  span.end_ns = bounds.to_ns;
  span.attributes = {{"headway.job", job.result.job},
                     {"headway.attempt", facts.attempt},
                     {"headway.ending", std::string(ending_word(facts.ending))}};
  put_dimensions(span.attributes, facts, options);
  if (!facts.levers.empty()) span.attributes.push_back({"headway.levers", facts.levers});
  if (facts.start) {
    span.attributes.push_back(
        {facts.start->recovery ? "headway.time_to_recover_ns" : "headway.time_to_start_ns",
         facts.start->length_ns()});
  }
  put_times(span.attributes, job.result.ledger.window(bounds.from_ns, bounds.to_ns).sums);
  span.failed = facts.ending == fleet::Ending::failed;
  if (facts.failure) {
    span.events.push_back(failure_event(job, at, options));
    span.failure = std::get<std::string>(span.events.back().attributes.front().value);
  }
  return span;
}

}  // namespace

TraceId trace_of(std::string_view tenant, std::string_view job) {
  return id_of<TraceId>({"headway.trace", tenant, job});
}

Span job_span(const JobAccount& job, metrics::JobState state, const SpanOptions& options) {
  HW_CHECK(!job.facts.empty() && job.facts.size() == job.result.attempts.size());
  const timeline::Account total = job.result.ledger.total();
  Span span;
  span.trace = trace_of(options.tenant, job.result.job);
  span.id = job_id(options.tenant, job.result.job);
  span.name = fmt::format("job {}", job.result.job);
  span.begin_ns = bounds_of(job.result, 0).from_ns;
  span.end_ns = bounds_of(job.result, job.facts.size() - 1).to_ns;
  span.attributes = {
      {"headway.job", job.result.job},
      {"headway.tenant", options.tenant},
      {"headway.state", std::string(metrics::job_state_name(state))},
      {"headway.attempts", static_cast<std::int64_t>(job.facts.size())},
      {"headway.wall_ns", total.sums.total()},
      {"headway.failure_ns", total.failure_ns},
  };
  put_dimensions(span.attributes, job.facts.back(), options);
  put_times(span.attributes, total.sums);
  span.failed = state == metrics::JobState::failed;
  return span;
}

std::vector<Span> attempt_spans(const JobAccount& job, std::size_t at, const SpanOptions& options) {
  HW_CHECK(at < job.facts.size() && job.facts.size() == job.result.attempts.size());
  std::vector<Span> out{attempt_span(job, at, options)};
  const Between bounds{out[0].begin_ns, out[0].end_ns};
  const std::int64_t tail_ns = tail_of(job.result, bounds);
  std::int64_t trained_ns = job.result.attempts[at].first_trained_ns.value_or(tail_ns);
  trained_ns = std::clamp(trained_ns, bounds.from_ns, tail_ns);
  Stages stages(job, at, options, out[0]);
  stages.each({bounds.from_ns, trained_ns});
  stages.training({trained_ns, tail_ns});
  stages.each({tail_ns, bounds.to_ns});
  std::ranges::move(stages.take(), std::back_inserter(out));
  return out;
}

}  // namespace headway::otlp
