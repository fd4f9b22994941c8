#include "collector/timeline_api.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "collector/answers.h"
#include "collector/stored_job.h"
#include "event/vocabulary.h"
#include "failure/redact.h"
#include "fleet/bucket_words.h"

namespace headway::collector {
namespace {

using base::Status;
using timeline::Bucket;
using timeline::Lane;
using timeline::LaneSegment;
using timeline::LaneWindow;

// What of an attempt a drawing needs, kept while its ranks' records are read.
struct DrawnAttempt {
  std::int64_t id = 0;
  bool failed = false;
  std::int64_t high_water = INT64_MIN;  // before it
  Lane own;
};

struct Drawing {
  LaneWindow window;
  std::int64_t begin_ns = 0, end_ns = 0;
  bool use_steps = false;
  std::vector<DrawnAttempt> attempts;
  nlohmann::json failures = nlohmann::json::array();
};

nlohmann::json lane_json(std::int64_t attempt, std::optional<std::uint32_t> rank,
                         const std::string& host, const Lane& lane, std::int64_t from_ns) {
  nlohmann::json start = nlohmann::json::array(), end = start, bucket = start;
  for (const LaneSegment& segment : lane.segments) {
    start.push_back(segment.t0_ns - from_ns);
    end.push_back(segment.t1_ns - from_ns);
    bucket.push_back(timeline::index(segment.bucket));
  }
  nlohmann::json out = {{"attempt", attempt},    {"rank", nullptr},
                        {"host", host},          {"start", std::move(start)},
                        {"end", std::move(end)}, {"b", std::move(bucket)},
                        {"exact", lane.exact}};
  if (rank) out["rank"] = *rank;
  return out;
}

nlohmann::json failure_json(const timeline::AttemptResult& attempt, const event::NameTable& names) {
  const timeline::Failure& failure = *attempt.failure;
  nlohmann::json out = {{"t_ns", failure.t_ns},
                        {"attempt", attempt.id},
                        {"rank", nullptr},
                        {"origin", event::origin_name(failure.info.origin)},
                        {"reason", failure::redact_line(names.text(failure.info.reason))}};
  if (failure.info.rank != HW_RANK_UNKNOWN) out["rank"] = failure.info.rank;
  return out;
}

Drawing draw(const JobView& view, const TimelineQuestion& question) {
  const timeline::JobResult& job = view.result;
  Drawing out;
  out.begin_ns = job.ledger.begin_ns();
  out.end_ns = job.ledger.end_ns();
  out.window = {question.from_ns.value_or(out.begin_ns), question.to_ns.value_or(out.end_ns),
                question.slices};
  out.window.to_ns = std::max(out.window.to_ns, out.window.from_ns);
  out.use_steps = job.used_step_numbers;
  std::int64_t high_water = INT64_MIN;
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const timeline::AttemptResult& attempt = job.attempts[i];
    const std::int64_t begin_ns = attempt.launch_ns - job.down_before_ns[i];
    const bool seen = attempt.end_ns > out.window.from_ns && begin_ns < out.window.to_ns;
    if (seen && out.attempts.size() < timeline_attempts_max) {
      LaneWindow own = out.window;
      own.from_ns = std::max(own.from_ns, i == 0 ? out.begin_ns : begin_ns);
      own.to_ns = std::min(own.to_ns, attempt.end_ns);
      out.attempts.push_back({attempt.id, attempt.outcome == timeline::Outcome::failed, high_water,
                              ledger_lane(job.ledger, own)});
    }
    high_water = std::max(high_water, attempt.high_water);
    if (attempt.failure) out.failures.push_back(failure_json(attempt, *view.names.names));
  }
  return out;
}

struct RankRow {
  std::uint32_t rank = 0;
  std::string host;
  Lane lane;
};

// Reads ranks of an attempt, and notes its checkpoints.
class RankReader {
 public:
  RankReader(const Drawing& drawing, const event::JobStreams& streams)
      : drawing_(drawing), streams_(streams) {}

  std::vector<RankRow> read(const DrawnAttempt& attempt) {
    std::vector<const event::Stream*> ranks;
    for (const event::Stream& stream : streams_.streams) {
      if (stream.info.attempt == attempt.id && stream.info.rank != HW_RANK_AGENT) {
        ranks.push_back(&stream);
      }
    }
    std::ranges::sort(ranks, {}, [](const event::Stream* s) { return s->info.rank; });
    ranks_in_all = std::max(ranks_in_all, ranks.size());
    if (ranks.size() > timeline_ranks_max) ranks.resize(timeline_ranks_max);
    std::vector<RankRow> out;
    for (const event::Stream* stream : ranks) {
      if (records >= timeline_records_max) break;
      out.push_back(read_rank(attempt, *stream));
    }
    return out;
  }

  nlohmann::json checkpoints = nlohmann::json::array();
  std::size_t ranks_in_all = 0;
  std::uint64_t records = 0;

 private:
  static constexpr std::size_t checkpoints_max = 5000;

  RankRow read_rank(const DrawnAttempt& attempt, const event::Stream& stream) {
    timeline::RankLane lane(drawing_.window, attempt.high_water, drawing_.use_steps);
    const bool first = stream.info.rank == 0;
    if (auto source = stream.open()) {
      bool past = false;
      for (auto events = source->next(); !events.empty() && !past; events = source->next()) {
        records += events.size();
        for (const event::Event& e : events) {
          lane.take(e);
          if (first && e.type == event::EventType::checkpoint) note(attempt.id, e);
        }
        past = lane.is_past(events.front().t_ns);
      }
    }
    return {stream.info.rank, stream.info.host, lane.finish(attempt.failed)};
  }

  void note(std::int64_t attempt, const event::Event& e) {
    const bool seen = e.t_ns >= drawing_.window.from_ns && e.t_ns < drawing_.window.to_ns;
    if (!seen || checkpoints.size() >= checkpoints_max) return;
    checkpoints.push_back({{"t_ns", e.t_ns},
                           {"step", e.a},
                           {"state", event::checkpoint_state_name(e.name)},
                           {"attempt", attempt}});
  }

  const Drawing& drawing_;
  const event::JobStreams& streams_;
};

nlohmann::json bucket_names() {
  nlohmann::json out = nlohmann::json::array();
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    out.push_back(fleet::bucket_word(static_cast<Bucket>(i)));
  }
  return out;
}

}  // namespace

net::ServerAnswer job_timeline(store::Store& store, Jobs& jobs, const std::string& tenant,
                               const std::string& job, const TimelineQuestion& question,
                               std::int64_t now_ns) {
  Drawing drawing;
  store::JobRow row;
  const auto found = jobs.view(tenant, job, now_ns, [&](const JobView& view) {
    drawing = draw(view, question);
    row = view.job;
  });
  if (!found.ok()) return trouble_answer(found.status());
  if (!found.value()) return error_answer(404, "there is no job " + job);
  // The ranks' own rows are read from the store, beside whoever goes on taking the job in.
  auto streams = stored_job(store, row, std::make_shared<event::NameTable>(), {});
  if (!streams.ok()) return later_answer(503, streams.status().message(), 5);
  RankReader reader(drawing, *streams);
  const std::int64_t from_ns = drawing.window.from_ns;
  nlohmann::json lanes = nlohmann::json::array();
  std::size_t shown = 0;
  for (const DrawnAttempt& attempt : drawing.attempts) {
    lanes.push_back(lane_json(attempt.id, std::nullopt, "", attempt.own, from_ns));
    const std::vector<RankRow> rows = reader.read(attempt);
    shown = std::max(shown, rows.size());
    for (const RankRow& each : rows) {
      lanes.push_back(lane_json(attempt.id, each.rank, each.host, each.lane, from_ns));
    }
  }
  const nlohmann::json out = {{"from_ns", from_ns},
                              {"to_ns", drawing.window.to_ns},
                              {"begin_ns", drawing.begin_ns},
                              {"end_ns", drawing.end_ns},
                              {"buckets", bucket_names()},
                              {"lanes", std::move(lanes)},
                              {"checkpoints", std::move(reader.checkpoints)},
                              {"failures", std::move(drawing.failures)},
                              {"ranks", reader.ranks_in_all},
                              {"ranks_shown", shown}};
  return json_answer(200,
                     out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace headway::collector
