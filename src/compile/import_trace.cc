#include "compile/import_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/job_path.h"
#include "base/plural.h"
#include "compile/trace_job.h"
#include "interchange/stream_builder.h"

namespace headway::compile {
namespace {

using base::Result;
using base::Status;
using interchange::ImportOptions;
using interchange::ImportSummary;

constexpr std::int64_t kUsMax = std::int64_t{1} << 51;  // some 70 years: nanoseconds fit
constexpr std::int64_t kNsPerUs = 1000;

std::uint32_t rank_of(const ProcessLog& log) {
  return log.rank < 0 ? 0 : static_cast<std::uint32_t>(log.rank);
}

bool overlap(const CompileSpan& a, const CompileSpan& b) {
  return a.begin_ns < b.end_ns && b.begin_ns < a.end_ns;
}

class TraceImport {
 public:
  explicit TraceImport(const ImportOptions& options) : options_(options) {}

  Status take(const std::vector<ProcessLog>& logs) {
    std::vector<RecordedRank> recorded;
    if (const auto job = interchange::recorded_job(options_.root, options_.job)) {
      recorded = recorded_ranks(*job);
    }
    const std::vector<const ProcessLog*> chosen = ranked(logs);
    const auto attempts = attempts_of(chosen, recorded);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const ProcessLog& log = *chosen[i];
      const auto attempt = options_.attempt ? options_.attempt : attempts[i];
      if (!attempt) {
        summary.notes.push_back(fmt::format(
            "{}: when it compiled, no attempt of {} ran; --attempt says of which one it is",
            log.path, options_.job));
        continue;
      }
      if (Status status = add(log, *attempt, recorded); !status.ok()) return status;
    }
    return {};
  }

  Status finish() {
    if (doubles_ > 0) {
      summary.notes.push_back(fmt::format("{} in the job's own records already, and left out",
                                          base::plural(doubles_, "span is", "spans are")));
    }
    if (unended_ > 0) {
      summary.notes.push_back(base::plural(unended_, "compilation has", "compilations have") +
                              " no end, and no time");
    }
    if (builder_.lines() == 0) {
      if (doubles_ > 0) return {};  // nothing is missing
      return Status::invalid(
          fmt::format("no compilation that ended is in the input{}",
                      summary.notes.empty() ? "" : ": " + summary.notes.front()));
    }
    auto jobs = builder_.finish(options_.job, {});
    if (!jobs.ok()) return jobs.status();
    for (const event::JobStreams& job : *jobs) {
      auto written = interchange::write_imported(job, options_.root);
      if (!written.ok()) return written.status();
      summary.jobs.push_back(std::move(*written));
    }
    return {};
  }

  ImportSummary summary;

 private:
  // Helpers of a distributed job compile before they have a rank: nobody knows whose time it is.
  std::vector<const ProcessLog*> ranked(const std::vector<ProcessLog>& logs) {
    const bool distributed =
        std::any_of(logs.begin(), logs.end(), [](const ProcessLog& log) { return log.rank >= 0; });
    std::vector<const ProcessLog*> out;
    for (const ProcessLog& log : logs) {
      if (log.compiles.empty()) continue;
      if (distributed && log.rank < 0) {
        summary.notes.push_back(log.path + ": of no rank, beside others that have one; left out");
        continue;
      }
      out.push_back(&log);
    }
    return out;
  }

  Status add(const ProcessLog& log, std::int64_t attempt,
             const std::vector<RecordedRank>& recorded) {
    for (const Compile& compile : log.compiles) unended_ += compile.finished ? 0 : 1;
    const std::uint32_t rank = options_.rank ? *options_.rank : rank_of(log);
    const auto own = std::find_if(recorded.begin(), recorded.end(), [&](const RecordedRank& one) {
      return one.attempt == attempt && one.rank == rank;
    });
    for (const CompileSpan& span : spans_of(log)) {
      // The same span is what an earlier import of this trace left: it stays the same file.
      const bool known =
          own != recorded.end() &&
          std::any_of(own->spans.begin(), own->spans.end(),
                      [&](const CompileSpan& one) { return overlap(one, span) && one != span; });
      if (known) {
        ++doubles_;
        continue;
      }
      interchange::Line line;
      line.job = options_.job;
      line.has_time = true;
      line.attempt = attempt;
      line.rank = rank;
      line.name = "compile";
      for (const bool end : {false, true}) {
        line.type = end ? event::EventType::end : event::EventType::begin;
        line.t_ns = end ? span.end_ns : span.begin_ns;
        line.a = end && span.warm ? 1 : 0;
        if (Status status = builder_.add(line, log.path); !status.ok()) return status;
      }
    }
    return {};
  }

  const ImportOptions& options_;
  interchange::StreamBuilder builder_;
  std::uint64_t doubles_ = 0, unended_ = 0;
};

}  // namespace

std::vector<CompileSpan> spans_of(const ProcessLog& log) {
  std::vector<CompileSpan> all;
  for (const Compile& compile : log.compiles) {
    for (const Pass* pass : {&compile.forward, &compile.backward}) {
      const bool sane = pass->start_us > 0 && pass->start_us < kUsMax && pass->duration_us > 0 &&
                        pass->duration_us < kUsMax;
      if (!pass->there || !sane) continue;
      all.push_back({pass->start_us * kNsPerUs, (pass->start_us + pass->duration_us) * kNsPerUs,
                     compile.is_warm()});
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<CompileSpan> out;
  for (const CompileSpan& one : all) {
    if (out.empty() || one.begin_ns >= out.back().end_ns) {
      out.push_back(one);
      continue;
    }
    out.back().end_ns = std::max(out.back().end_ns, one.end_ns);
    out.back().warm = out.back().warm && one.warm;
  }
  return out;
}

std::vector<RecordedRank> recorded_ranks(const event::JobStreams& job) {
  std::map<std::pair<std::int64_t, std::uint32_t>, RecordedRank> found;
  for (const event::Stream& stream : job.streams) {
    if (stream.info.rank == event::kAgentRank) continue;
    const auto source = stream.open();
    if (source == nullptr) continue;
    const auto [at, added] = found.try_emplace({stream.info.attempt, stream.info.rank});
    RecordedRank& rank = at->second;
    if (added) {
      rank = {stream.info.attempt, stream.info.rank, INT64_MAX, INT64_MIN, {}};
    }
    int depth = 0;
    CompileSpan open;
    for (auto events = source->next(); !events.empty(); events = source->next()) {
      for (const event::Event& one : events) {
        rank.first_ns = std::min(rank.first_ns, one.t_ns);
        rank.last_ns = std::max(rank.last_ns, one.t_ns);
        if (one.name != HW_PHASE_COMPILE) continue;
        if (one.type == event::EventType::begin && depth++ == 0) open = {one.t_ns, one.t_ns, false};
        if (one.type == event::EventType::end && depth > 0 && --depth == 0) {
          open.end_ns = one.t_ns;
          open.warm = one.a == 1;
          rank.spans.push_back(open);
        }
      }
    }
    // It died while it compiled.
    if (depth > 0) rank.spans.push_back({open.begin_ns, rank.last_ns + 1, false});
  }
  std::vector<RecordedRank> out;
  for (auto& [key, rank] : found) {
    if (rank.first_ns <= rank.last_ns) out.push_back(std::move(rank));
  }
  return out;
}

std::vector<std::optional<std::int64_t>> attempts_of(const std::vector<const ProcessLog*>& logs,
                                                     const std::vector<RecordedRank>& recorded) {
  // The whole attempt counts: a rank may have been dead before another compiled.
  std::map<std::int64_t, CompileSpan> attempts;
  std::int64_t last_ns = INT64_MIN;
  for (const RecordedRank& one : recorded) {
    const auto at =
        attempts.try_emplace(one.attempt, CompileSpan{one.first_ns, one.last_ns, false}).first;
    at->second.begin_ns = std::min(at->second.begin_ns, one.first_ns);
    at->second.end_ns = std::max(at->second.end_ns, one.last_ns);
    last_ns = std::max(last_ns, one.last_ns);
  }
  std::vector<std::optional<std::int64_t>> out(logs.size());
  std::vector<std::pair<std::int64_t, std::size_t>> later;  // begin, log
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto spans = spans_of(*logs[i]);
    if (spans.empty()) continue;
    const std::int64_t begin_ns = spans.front().begin_ns, end_ns = spans.back().end_ns;
    std::int64_t most_ns = 0;
    for (const auto& [attempt, span] : attempts) {
      const std::int64_t shared_ns =
          std::min(span.end_ns, end_ns) - std::max(span.begin_ns, begin_ns);
      if (shared_ns <= most_ns) continue;
      most_ns = shared_ns;
      out[i] = attempt;
    }
    if (!out[i] && begin_ns >= last_ns) later.emplace_back(begin_ns, i);
  }
  // Launches that nothing else tells of: a new one begins with the first rank that is there again.
  std::sort(later.begin(), later.end());
  std::set<std::int32_t> there;
  std::int64_t attempt =
      attempts.empty() ? interchange::kDefaultAttempt : attempts.rbegin()->first + 1;
  for (const auto& [begin_ns, i] : later) {
    if (!there.insert(logs[i]->rank).second) {
      there = {logs[i]->rank};
      ++attempt;
    }
    out[i] = attempt;
  }
  return out;
}

Result<ImportSummary> import_trace(const std::vector<std::string>& paths,
                                   const ImportOptions& given) {
  ImportOptions options = given;
  auto root = base::jobs_root(options.root);
  if (!root.ok()) return root.status();
  options.root = std::move(*root);
  if (options.job.empty()) {
    return Status::invalid(fmt::format(
        "{}: a trace does not say which job it is of: name it with --job", paths.front()));
  }
  if (Status status = base::check_job_name(options.job); !status.ok()) return status;
  auto files = find_logs(paths);
  if (!files.ok()) return files.status();
  ComponentTable components;
  auto logs = read_logs(*files, {}, components, {});
  if (!logs.ok()) return logs.status();
  TraceImport import(options);
  for (const std::string& path : *files) {
    import.summary.files.emplace_back(path, interchange::Format::torch_trace);
  }
  if (Status status = import.take(*logs); !status.ok()) return status;
  if (Status status = import.finish(); !status.ok()) return status;
  return std::move(import.summary);
}

}  // namespace headway::compile
