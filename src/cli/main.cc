#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/near_name.h"
#include "cli/verb.h"

namespace headway::cli {

namespace {

// The nearest of `known` in the words of a person, or "".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  std::size_t steps = SIZE_MAX;
  for (const std::string& name : known) {
    const auto near = base::nearness(word, name);
    if (!near || *near >= steps) continue;
    best = &name;
    steps = *near;
  }
  return best != nullptr ? "did you mean `" + *best + "`? " : "";
}

std::string suggest_verb(const Verb& verb, const std::string& word) {
  std::vector<std::string> names;
  for (const Verb* one : verb.verbs()) names.push_back(one->name());
  return did_you_mean(word, names);
}

// For the first argument that looks like an option of the verb and is none.
std::string suggest_option(const Verb& verb, int begin, int argc, char** argv) {
  const std::vector<std::string> names = verb.long_names();
  for (int i = begin; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (!word.starts_with("--") || word == "--") continue;
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    return did_you_mean(word, names);
  }
  return "";
}

}  // namespace
}  // namespace headway::cli

int main(int argc, char** argv) {
  using namespace headway::cli;
  CommandLine line("headway",
                   "Headway measures where every nanosecond of a training job goes, so that the "
                   "lost ones can be taken back.",
                   HEADWAY_VERSION);
  Verb& app = line.root();
  app.footer(
      "Start here:\n"
      "  headway run train.py        run a script and measure it\n"
      "  headway report              what became of its time");

  int exit_code = kExitOk;
  constexpr AddVerb kVerbs[] = {add_run,   add_report,   add_import, add_export,   add_why,
                                add_ckpt,  add_interval, add_trace,  add_autotune, add_cache,
                                add_serve, add_ship,     add_fleet,  add_doctor};
  for (const AddVerb add : kVerbs) add(app, exit_code);

  // The words before the first option that are verbs, and verbs of a verb (`ckpt ls`).
  const Verb* verb = &app;
  std::string words = "headway";
  int begin = 1;
  for (; begin < argc && !verb->verbs().empty() && argv[begin][0] != '-'; ++begin) {
    const Verb* next = verb->find_verb(argv[begin]);
    if (next == nullptr) {
      std::fprintf(stderr, "headway: unknown command '%s' (%stry `%s --help`)\n", argv[begin],
                   suggest_verb(*verb, argv[begin]).c_str(), words.c_str());
      return kExitBadInput;
    }
    verb = next;
    words += " " + verb->name();
  }
  const CommandLine::Outcome outcome = line.parse(split_run_command(app, argc, argv), argv);
  if (outcome.done) return kExitOk;
  if (!outcome.error.empty()) {
    const std::string hint = verb != &app ? suggest_option(*verb, begin, argc, argv) : "";
    std::fprintf(stderr, "headway: %s (%stry `%s --help`)\n", outcome.error.c_str(), hint.c_str(),
                 words.c_str());
    return kExitBadInput;
  }
  return exit_code;
}
