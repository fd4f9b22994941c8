#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/near_name.h"
#include "cli/verb.h"

namespace headway::cli {

int fail(const base::Status& status) {
  std::fprintf(stderr, "headway: %s\n", status.message().c_str());
  return kExitBadInput;
}

CLI::Option* add_dir_option(CLI::App& verb, std::string& dir, const std::string& name) {
  return verb
      .add_option(name, dir,
                  "Folder of all jobs (default: $HEADWAY_DIR, else ~/.local/state/headway)")
      ->type_name("DIR");
}

void add_load_options(CLI::App& verb, interchange::LoadOptions& load) {
  verb.add_option("--job", load.job, "Which job, where the input holds several")->type_name("J");
  add_dir_option(verb, load.root);
  verb.add_flag("--skip-bad", load.skip_bad,
                "Count lines that cannot be read instead of stopping at the first");
}

namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_verb(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : verbs_of(app)) {
    if (verb->get_name() == word) return verb;
  }
  return nullptr;
}

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

std::string suggest_verb(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(app)) names.push_back(verb->get_name());
  return did_you_mean(word, names);
}

// For the first argument that looks like an option of the verb and is none.
std::string suggest_option(const CLI::App& verb, int begin, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
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
  CLI::App app{
      "Headway measures where every nanosecond of a training job goes, so that the lost ones can "
      "be taken back."};
  app.name("headway");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("headway ") + HEADWAY_VERSION);
  app.footer(
      "Start here:\n"
      "  headway run train.py        run a script and measure it\n"
      "  headway report              what became of its time");

  int exit_code = kExitOk;
  constexpr AddVerb kVerbs[] = {add_run,  add_report,   add_import, add_export, add_why,
                                add_ckpt, add_interval, add_trace,  add_cache,  add_doctor};
  for (const AddVerb add : kVerbs) add(app, exit_code);

  // The words before the first option that are verbs, and verbs of a verb (`ckpt ls`).
  const CLI::App* verb = &app;
  std::string words = "headway";
  int begin = 1;
  for (; begin < argc && !verbs_of(*verb).empty() && argv[begin][0] != '-'; ++begin) {
    const CLI::App* next = find_verb(*verb, argv[begin]);
    if (next == nullptr) {
      std::fprintf(stderr, "headway: unknown command '%s' (%stry `%s --help`)\n", argv[begin],
                   suggest_verb(*verb, argv[begin]).c_str(), words.c_str());
      return kExitBadInput;
    }
    verb = next;
    words += " " + verb->get_name();
  }
  try {
    app.parse(split_run_command(app, argc, argv), argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help and --version
  } catch (const CLI::ParseError& e) {
    const std::string hint = verb != &app ? suggest_option(*verb, begin, argc, argv) : "";
    std::fprintf(stderr, "headway: %s (%stry `%s --help`)\n", e.what(), hint.c_str(),
                 words.c_str());
    return kExitBadInput;
  }
  return exit_code;
}
