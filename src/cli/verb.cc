#include "cli/verb.h"

#include <cstdio>

namespace headway::cli {

int fail(const base::Status& status) {
  std::fprintf(stderr, "headway: %s\n", status.message().c_str());
  return kExitBadInput;
}

Option* add_dir_option(Verb& verb, std::string& dir, const std::string& name) {
  return verb
      .add_option(name, dir,
                  "Folder of all jobs (default: $HEADWAY_DIR, else ~/.local/state/headway)")
      ->type_name("DIR");
}

void add_load_options(Verb& verb, interchange::LoadOptions& load) {
  verb.add_option("--job", load.job, "Which job, where the input holds several")->type_name("J");
  add_dir_option(verb, load.root);
  verb.add_flag("--skip-bad", load.skip_bad,
                "Count lines that cannot be read instead of stopping at the first");
}

}  // namespace headway::cli
