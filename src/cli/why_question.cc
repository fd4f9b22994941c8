#include "cli/why_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/diagnosis.h"
#include "agent/failure_file.h"
#include "agent/own_verdict.h"
#include "base/job_path.h"
#include "cli/report_live.h"
#include "cli/report_text.h"
#include "cli/report_view.h"
#include "cli/why_logs.h"

namespace headway::cli {
namespace {

using base::Result;
using failure::Evidence;
using failure::Verdict;

constexpr std::size_t kTextProbeBytes = 4096;

bool is_binary(const std::string& text) {
  return text.substr(0, kTextProbeBytes).find('\0') != std::string::npos;
}

bool names_ranks(const std::string& text) {
  bool found = false;
  failure::each_line(text, failure::kNoRank, true, [&](const failure::LineView& line) {
    found = found || line.rank != failure::kNoRank;
  });
  return found;
}

std::string how_it_stands(JobState state) {
  switch (state) {
    case JobState::running:
      return "it is running, and has not failed";
    case JobState::stopped:
      return "it was asked to stop, and all ranks ended well";
    case JobState::restarting:
    case JobState::clean:
    case JobState::failed:
    case JobState::unended:
      break;
  }
  return "it did not fail";
}

// "It had finished step 120."
std::string how_far(const metrics::Report& report, std::int64_t attempt) {
  for (const metrics::AttemptRow& row : report.attempts) {
    if (row.id != attempt || row.ranks == 0) continue;
    if (row.steps == 0) return "It had not finished a step.";
    return fmt::format("It had finished step {}.", row.last_step);
  }
  return {};
}

void add_row(const metrics::FailureRow& row, Question& question) {
  Evidence& evidence = question.evidence;
  if (!row.rank && row.exit_code == 0 && row.signal == 0 && row.origin != "preemption") {
    question.seen = agent::unended_verdict();
    return;
  }
  const int rank = row.rank ? static_cast<int>(*row.rank) : failure::kNoRank;
  evidence.exits.push_back(
      {rank, row.signal == 0 && row.exit_code == 0 ? 1 : row.exit_code, row.signal});
  evidence.logs = read_rank_logs(question.folder, rank);
  std::set<int> ranks = {std::max(rank, 0)};
  for (const failure::Log& log : evidence.logs) ranks.insert(log.rank);
  for (const int each : ranks) agent::add_error_file(question.folder, each, evidence);
  std::string told = row.reason;
  if (const auto facts = agent::read_failure_file(question.folder)) {
    if (!facts->exits.empty()) evidence.exits = facts->exits;
    evidence.kernel = facts->kernel;
    question.seen = facts->seen;
    question.decision = facts->decision;
    // The record has but the ends of a long line, and the category before them.
    if (!facts->proof.empty()) told = facts->proof;
  }
  // Where no output was kept, what the agent judged by, or the exception that the hook recorded.
  if (evidence.logs.empty() && !told.empty()) evidence.lines.push_back({rank, told});
  if (row.origin == "preemption") evidence.scheduler.emplace_back("state=PREEMPTED");
}

}  // namespace

Result<Question> ask_about_logs(const std::vector<std::string>& paths) {
  Question question;
  question.about = paths.size() == 1 ? paths.front() : fmt::format("{} logs", paths.size());
  bool empty = true;
  for (const std::string& path : paths) {
    int rank = rank_of_file(path);
    auto text = read_end(path, log_bytes_max);
    if (!text.ok()) return text.status();
    if (is_binary(*text)) return base::Status::invalid(path + ": not a text file");
    empty = empty && text->empty();
    // One log is one rank's, unless its lines say otherwise.
    if (rank == failure::kNoRank && paths.size() == 1) {
      question.rank_known = names_ranks(*text);
      rank = 0;
    }
    question.evidence.logs.push_back({rank, std::move(*text), true});
  }
  if (empty) question.not_failed = paths.size() == 1 ? "the file is empty" : "the files are empty";
  return question;
}

Result<Question> ask_about_job(const std::string& job, const interchange::LoadOptions& options) {
  const Result<std::string> root = base::jobs_root(options.root);
  if (!root.ok()) return root.status();
  std::string name = job;
  if (name.empty()) {
    const Result<std::string> newest =
        interchange::newest_job(root.value(), "for a log of another job: headway why --log FILE");
    if (!newest.ok()) return newest.status();
    name = newest.value();
  }
  auto streams = interchange::load_job(name, options);
  if (!streams.ok()) return streams.status();
  const std::string folder = folder_of_job(place_of(name, options.root), streams->job);
  auto view = view_job(*streams, {}, now_if_running(*streams, folder));
  if (!view.ok()) return view.status();
  Question question;
  question.about = "job " + streams->job;
  const metrics::Report& report = view->report;
  if (view->state == JobState::unended) {
    question.seen = agent::unended_verdict();
    if (!report.attempts.empty()) question.reached = how_far(report, report.attempts.back().id);
    return question;
  }
  if (report.failure_rows.empty()) {
    question.not_failed = how_it_stands(view->state);
    return question;
  }
  const metrics::FailureRow& row = report.failure_rows.back();
  question.about += fmt::format(", attempt {}", attempt_label(row.attempt, report));
  question.folder = fmt::format("{}/{}", folder, row.attempt);
  question.reached = how_far(report, row.attempt);
  if (view->state == JobState::running) question.also = "the job is running again";
  if (view->state == JobState::clean) question.also = "the job has finished since";
  add_row(row, question);
  return question;
}

}  // namespace headway::cli
