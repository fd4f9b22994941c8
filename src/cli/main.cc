#include <cstdio>
#include <string>

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

bool is_verb(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == word) return true;
  }
  return false;
}

}  // namespace
}  // namespace headway::cli

int main(int argc, char** argv) {
  using namespace headway::cli;
  CLI::App app{
      "Headway measures where every nanosecond of a training job goes, and takes the lost ones "
      "back."};
  app.name("headway");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("headway ") + HEADWAY_VERSION);
  app.footer(
      "Start here:\n"
      "  headway run train.py        run a script and measure it\n"
      "  headway report              what became of its time");

  int exit_code = kExitOk;
  constexpr AddVerb kVerbs[] = {add_run, add_report, add_import, add_export, add_doctor};
  for (const AddVerb add : kVerbs) add(app, exit_code);

  if (argc > 1 && argv[1][0] != '-' && !is_verb(app, argv[1])) {
    std::fprintf(stderr, "headway: unknown command '%s' (try `headway --help`)\n", argv[1]);
    return kExitBadInput;
  }
  try {
    app.parse(split_run_command(app, argc, argv), argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help and --version
  } catch (const CLI::ParseError& e) {
    const bool verb = argc > 1 && is_verb(app, argv[1]);
    std::fprintf(stderr, "headway: %s (try `headway %s%s--help`)\n", e.what(), verb ? argv[1] : "",
                 verb ? " " : "");
    return kExitBadInput;
  }
  return exit_code;
}
