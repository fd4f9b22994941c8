// headway why: why a job failed, on one screen.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/style.h"
#include "cli/verb.h"
#include "cli/why_logs.h"
#include "cli/why_question.h"
#include "cli/why_text.h"
#include "failure/classify.h"
#include "failure/redact.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
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

int execute(const Options& options) {
  if (!options.logs.empty() && !options.input.empty()) {
    return fail(Status::invalid("why: name either a job or --log FILE, not both"));
  }
  auto rules = load_rules(options.rules);
  if (!rules.ok()) return fail(rules.status());
  auto question = options.logs.empty() ? ask_about_job(options.input, options.load)
                                       : ask_about_logs(options.logs);
  if (!question.ok()) return fail(question.status());
  Verdict verdict;
  verdict.category = verdict.origin = "none";
  const bool failed = question->not_failed.empty();
  if (question->seen) {
    verdict = *question->seen;
  } else if (failed) {
    verdict = failure::Classifier(std::move(*rules)).classify(question->evidence);
  }
  // What is shown may be pasted into a chat: no secrets of a log leave it this way.
  verdict.proof = failure::redact_line(verdict.proof);
  const TailLines tail = failed ? tail_of(question->evidence, verdict.rank) : TailLines();
  if (!question->rank_known) verdict.rank = failure::kNoRank;
  const Style style = choose_style(probe_output(STDOUT_FILENO), ColorWhen::automatic, {});
  const std::string text =
      options.json ? why_json(*question, verdict, tail) : why_text(*question, verdict, tail, style);
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? kExitOk : fail(Status::io("why: standard output is gone"));
}

}  // namespace

void add_why(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb("why", "Say why a job failed");
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
