#include "cli/ckpt.h"

#include "cli/verb.h"
namespace headway::cli {
int fail_cleanly(const base::Status& status) {
  return fail(status);
}
void add_ckpt(CLI::App& app, int& exit_code) {
  CLI::App* ckpt = app.add_subcommand("ckpt", "Look at checkpoints");
  ckpt->require_subcommand(1);
  add_ckpt_hold(*ckpt, exit_code);
}
}  // namespace headway::cli
