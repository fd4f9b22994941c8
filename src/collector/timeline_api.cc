#include "collector/timeline_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/answers.h"
#include "collector/rank_choice.h"
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
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t high_water = INT64_MIN;  // before it
  Lane own;
};

struct Drawing {
  LaneWindow window;
  std::int64_t begin_ns = 0, end_ns = 0;
  bool use_steps = false;
  ChosenRanks ranks;
  std::vector<DrawnAttempt> attempts;
  nlohmann::json failures = nlohmann::json::array();
};

std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "name":[…],: one number of every segment.
template <typename Number>
void append_numbers(std::string& out, std::string_view name, const Lane& lane, Number&& number) {
  std::array<char, 24> digits{};
  out.append("\"").append(name).append("\":[");
  for (const LaneSegment& segment : lane.segments) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number(segment));
    out.append(digits.data(), end.ptr).push_back(',');
  }
  if (!lane.segments.empty()) out.pop_back();
  out.append("],");
}

// As text at once: a drawing has some hundred thousand numbers, of which a document of nodes takes
// longer to make than the drawing.
void append_lane(std::string& out, std::int64_t attempt, std::optional<std::uint32_t> rank,
                 const std::string& host, const Lane& lane, std::int64_t from_ns) {
  out.append(out.empty() ? "{" : ",{");
  append_numbers(out, "start", lane, [&](const LaneSegment& s) { return s.t0_ns - from_ns; });
  append_numbers(out, "end", lane, [&](const LaneSegment& s) { return s.t1_ns - from_ns; });
  append_numbers(out, "b", lane, [](const LaneSegment& s) { return timeline::index(s.bucket); });
  nlohmann::json rest = {
      {"attempt", attempt}, {"rank", nullptr}, {"host", host}, {"exact", lane.exact}};
  if (rank) rest["rank"] = *rank;
  out.append(text_of(rest), 1);  // behind its brace
}

nlohmann::json failure_json(const timeline::AttemptResult& attempt, const event::NameTable& names) {
  const timeline::Failure& failure = *attempt.failure;
  nlohmann::json out = {
      {"t_ns", failure.t_ns}, {"attempt", attempt.id},
      {"rank", nullptr},      {"origin", event::origin_name(failure.info.origin)},
      {"category", nullptr},  {"reason", failure::redact_line(names.text(failure.info.reason))}};
  if (failure.info.rank != HW_RANK_UNKNOWN) out["rank"] = failure.info.rank;
  for (const auto& [key, value] : attempt.facts.attrs) {
    if (names.text(key) == "failure_category") out["category"] = names.text(value);
  }
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
  out.ranks = choose_ranks(job, question.ranks, timeline_ranks_max);
  std::int64_t high_water = INT64_MIN;
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const timeline::AttemptResult& attempt = job.attempts[i];
    const std::int64_t begin_ns = attempt.launch_ns - job.down_before_ns[i];
    const bool seen = attempt.end_ns > out.window.from_ns && begin_ns < out.window.to_ns;
    if (seen && out.attempts.size() < timeline_attempts_max) {
      LaneWindow own = out.window;
      own.from_ns = std::max(own.from_ns, i == 0 ? out.begin_ns : begin_ns);
      own.to_ns = std::min(own.to_ns, attempt.end_ns);
      out.attempts.push_back({attempt.id, attempt.outcome == timeline::Outcome::failed, begin_ns,
                              attempt.end_ns, high_water, ledger_lane(job.ledger, own)});
    }
    high_water = std::max(high_water, attempt.high_water);
    if (attempt.failure) out.failures.push_back(failure_json(attempt, *view.names.names));
  }
  return out;
}

// Each save of the job once, as the last of the ranks on show told it: a job has what all of them
// have.
class Checkpoints {
 public:
  void take(std::int64_t attempt, const std::vector<KeptLane::Save>& saves) {
    for (const KeptLane::Save& save : saves) {
      const Name name{attempt, save.step, save.state};
      const auto known = times_.find(name);
      if (known != times_.end()) {
        known->second = std::max(known->second, save.t_ns);
      } else if (times_.size() < checkpoints_max) {
        times_.emplace(name, save.t_ns);
      }
    }
  }
  [[nodiscard]] nlohmann::json json() const {
    std::vector<std::pair<std::int64_t, Name>> ordered;
    for (const auto& [name, t_ns] : times_) ordered.emplace_back(t_ns, name);
    std::ranges::sort(ordered);
    nlohmann::json out = nlohmann::json::array();
    for (const auto& [t_ns, name] : ordered) {
      const auto& [attempt, step, state] = name;
      out.push_back({{"t_ns", t_ns},
                     {"step", step},
                     {"state", event::checkpoint_state_name(state)},
                     {"attempt", attempt}});
    }
    return out;
  }

 private:
  static constexpr std::size_t checkpoints_max = 5000;
  using Name = std::tuple<std::int64_t, std::int64_t, std::uint16_t>;  // attempt, step, state
  std::map<Name, std::int64_t> times_;
};

nlohmann::json bucket_names() {
  nlohmann::json out = nlohmann::json::array();
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    out.push_back(fleet::bucket_word(static_cast<Bucket>(i)));
  }
  return out;
}

}  // namespace

net::ServerAnswer job_timeline(const TimelineParts& parts, const std::string& tenant,
                               const std::string& job, const TimelineQuestion& question,
                               std::int64_t now_ns, const ReadLimits& limits) {
  Drawing drawing;
  store::JobRow row;
  const auto found = parts.jobs.view(tenant, job, now_ns, [&](const JobView& view) {
    drawing = draw(view, question);
    row = view.job;
  });
  if (!found.ok()) return trouble_answer(found.status());
  if (!found.value()) return error_answer(404, "there is no job " + job);
  // The ranks' own rows are read from the store, beside whoever goes on taking the job in.
  RankRows rows(parts.store, parts.lanes, row, limits);
  if (Status status = rows.open(); !status.ok()) return later_answer(503, status.message(), 5);
  const std::int64_t from_ns = drawing.window.from_ns;
  std::string lanes;
  Checkpoints checkpoints;
  for (const DrawnAttempt& attempt : drawing.attempts) {
    append_lane(lanes, attempt.id, std::nullopt, "", attempt.own, from_ns);
  }
  // The ranks that matter most first: they have their rows in all attempts before others have any.
  for (const std::uint32_t rank : drawing.ranks.ranks) {
    for (const DrawnAttempt& attempt : drawing.attempts) {
      const RowBasis basis{attempt.id,         attempt.begin_ns, attempt.end_ns,
                           attempt.high_water, attempt.failed,   drawing.use_steps};
      const auto found_row = rows.row(basis, rank, drawing.window);
      if (!found_row) continue;
      append_lane(lanes, attempt.id, rank, found_row->host, found_row->lane, from_ns);
      checkpoints.take(attempt.id, found_row->saves);
    }
  }
  const nlohmann::json out = {{"from_ns", from_ns},
                              {"to_ns", drawing.window.to_ns},
                              {"begin_ns", drawing.begin_ns},
                              {"end_ns", drawing.end_ns},
                              {"buckets", bucket_names()},
                              {"checkpoints", checkpoints.json()},
                              {"failures", std::move(drawing.failures)},
                              {"ranks", drawing.ranks.of},
                              {"ranks_shown", drawing.ranks.ranks.size()},
                              {"complete", rows.complete()}};
  std::string text = text_of(out);
  text.pop_back();
  return json_answer(200, text.append(",\"lanes\":[").append(lanes).append("]}\n"));
}

}  // namespace headway::collector
