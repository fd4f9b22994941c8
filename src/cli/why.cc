// headway why: why a job failed, on one screen.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/diagnosis.h"
#include "agent/failure_file.h"
#include "base/file.h"
#include "base/job_path.h"
#include "cli/human.h"
#include "cli/page.h"
#include "cli/report_live.h"
#include "cli/report_view.h"
#include "cli/style.h"
#include "cli/verb.h"
#include "cli/why_logs.h"
#include "failure/classify.h"
#include "failure/redact.h"
#include "failure/verdict_json.h"
#include "interchange/job_input.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using failure::Evidence;
using failure::TailLines;
using failure::Verdict;

constexpr std::size_t rules_bytes_max = 4 << 20;

struct Options {
  std::string input;
  std::vector<std::string> logs;
  std::string rules;
  bool json = false;
  interchange::LoadOptions load;
};

// What is asked about, in words, and what there is to judge it by.
struct Question {
  std::string about;
  Evidence evidence;
  bool failed = true;
  std::optional<Verdict> judged;  // by the agent, from what no log shows
};

Result<failure::Rules> load_rules(const std::string& own) {
  auto rules = failure::parse_rules(failure::builtin_rules_text(), "rules.toml");
  if (!rules.ok() || own.empty()) return rules;
  auto text = base::read_file(own, rules_bytes_max);
  if (!text.ok()) return text.status();
  auto more = failure::parse_rules(*text, own);
  if (!more.ok()) return more.status();
  for (failure::Rule& rule : more->rules) rules->rules.push_back(std::move(rule));
  for (failure::ExitRule& rule : more->exits) rules->exits.push_back(std::move(rule));
  return rules;
}

Result<Question> from_logs(const std::vector<std::string>& paths) {
  Question question;
  question.about = paths.size() == 1 ? paths.front() : fmt::format("{} logs", paths.size());
  for (const std::string& path : paths) {
    int rank = rank_of_file(path);
    // One log is one rank's, unless its lines say otherwise.
    if (rank == failure::kNoRank && paths.size() == 1) rank = 0;
    auto text = read_end(path, log_bytes_max);
    if (!text.ok()) return text.status();
    question.evidence.logs.push_back({rank, std::move(*text), true});
  }
  return question;
}

// The newest failure of a job: what its ranks wrote, whom the launcher saw end first, and how.
Result<Question> from_job(const Options& options) {
  const Result<std::string> root = base::jobs_root(options.load.root);
  if (!root.ok()) return root.status();
  std::string name = options.input;
  if (name.empty()) {
    const Result<std::string> newest =
        interchange::newest_job(root.value(), "for a log of another job: headway why --log FILE");
    if (!newest.ok()) return newest.status();
    name = newest.value();
  }
  auto streams = interchange::load_job(name, options.load);
  if (!streams.ok()) return streams.status();
  auto view = view_job(*streams, {}, std::nullopt);
  if (!view.ok()) return view.status();
  Question question;
  question.about = "job " + streams->job;
  if (view->report.failure_rows.empty()) {
    question.failed = false;
    return question;
  }
  const metrics::FailureRow& row = view->report.failure_rows.back();
  const int rank = row.rank ? static_cast<int>(*row.rank) : 0;
  question.about += fmt::format(", attempt {}", row.attempt);
  Evidence& evidence = question.evidence;
  evidence.exits.push_back(
      {rank, row.signal == 0 && row.exit_code == 0 ? 1 : row.exit_code, row.signal});
  const std::string job_folder = folder_of_job(place_of(name, options.load.root), streams->job);
  const std::string folder = fmt::format("{}/{}", job_folder, row.attempt);
  evidence.logs = read_rank_logs(folder, rank);
  std::set<int> ranks = {rank};
  for (const failure::Log& log : evidence.logs) ranks.insert(log.rank);
  for (const int each : ranks) agent::add_error_file(folder, each, evidence);
  if (const auto facts = agent::read_failure_file(folder)) {
    evidence.exits = facts->exits;
    evidence.kernel = facts->kernel;
    question.judged = facts->hang;
  } else if (!row.reason.empty()) {
    evidence.lines.push_back({rank, row.reason});
  }
  if (row.origin == "preemption") evidence.scheduler.emplace_back("state=PREEMPTED");
  return question;
}

std::string to_json(const Question& question, const Verdict& v, const TailLines& tail) {
  nlohmann::ordered_json out = {{"about", question.about}};
  out.update(failure::verdict_json(v));
  out["tail"] = {
      {"lines", tail.lines}, {"cut_lines", tail.cut_lines}, {"cut_bytes", tail.cut_bytes}};
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const Question& question, const Verdict& v, const TailLines& tail,
                    const Style& style) {
  Page page(style);
  page.add(Line().add(clean(question.about, style)).add(": ").add(v.category, Ink::strong));
  if (v.category == "none") {
    page.add("  it did not fail");
    return page.text();
  }
  const auto row = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) page.add_broken(Line().add("  ").add(label).to(12).add(text), 12);
  };
  if (v.category == "unknown") {
    row("what", "Nothing in the evidence tells. It is better not to guess.");
  } else {
    row("what", fmt::format("{}, origin {}; {:.0f}% sure", failure::role_name(v.role), v.origin,
                            100 * v.confidence));
  }
  if (v.rank != failure::kNoRank) row("rank", fmt::format("{}", v.rank));
  row("retry", v.retryable ? v.elsewhere ? "yes, on another node" : "yes" : "no");
  row("proof", clean(v.proof, style));
  row("next", clean(v.next, style));
  if (tail.lines.empty()) return page.text();
  page.blank();
  page.add("  the last it wrote" + (tail.note().empty() ? "" : "; " + tail.note()), Ink::dim);
  for (const std::string& line : tail.lines) page.add("    " + clean(line, style));
  return page.text();
}

int execute(const Options& options) {
  if (!options.logs.empty() && !options.input.empty()) {
    return fail(Status::invalid("why: name either a job or --log FILE, not both"));
  }
  auto rules = load_rules(options.rules);
  if (!rules.ok()) return fail(rules.status());
  auto question = options.logs.empty() ? from_job(options) : from_logs(options.logs);
  if (!question.ok()) return fail(question.status());
  Verdict verdict;
  verdict.category = verdict.origin = "none";
  if (question->judged) {
    verdict = *question->judged;
  } else if (question->failed) {
    verdict = failure::Classifier(std::move(*rules)).classify(question->evidence);
  }
  // What is shown may be pasted into a chat: no secrets of a log leave it this way.
  verdict.proof = failure::redact_line(verdict.proof);
  const TailLines tail = question->failed ? tail_of(question->evidence, verdict.rank) : TailLines();
  const Style style = choose_style(probe_output(STDOUT_FILENO), ColorWhen::automatic, {});
  const std::string text =
      options.json ? to_json(*question, verdict, tail) : to_text(*question, verdict, tail, style);
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? kExitOk : fail(Status::io("why: standard output is gone"));
}

}  // namespace

void add_why(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("why", "Say why a job failed");
  verb->add_option("job", options->input, "Name of a job (default: the most recent)")
      ->type_name("JOB");
  verb->add_option("--log", options->logs, "Logs of a job that never ran under Headway")
      ->type_name("FILE");
  verb->add_option("--rules", options->rules, "Rules of your own, beside the built-in ones")
      ->type_name("FILE.toml");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  add_dir_option(*verb, options->load.root);
  verb->footer(
      "Examples:\n"
      "  headway why nightly\n"
      "  headway why --log slurm-4242.out\n"
      "  headway why --log rank-0.log --log rank-1.log --json");
  verb->callback([options, verb, &exit_code] {
    // An unset variable of a script must not mean "the most recent job".
    const bool empty = verb->count("job") > 0 && options->input.empty();
    exit_code =
        empty ? fail(Status::invalid("why: the name of the job is empty")) : execute(*options);
  });
}

}  // namespace headway::cli
