// headway autotune: what autotuning costs, which configurations are worth trying, and pins for
// them.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "base/job_path.h"
#include "cli/autotune_views.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

struct Options {
  std::vector<std::string> paths;
  std::string epsilon = "5%";
  std::string hardware;
  std::string pins;
  bool json = false;
  bool all = false;
};

// "5%" or "0.05".
Result<double> parse_epsilon(std::string_view text) {
  const Status bad =
      Status::invalid(fmt::format("--epsilon {}: a share from 0% to 100%, as 5% or 0.05", text));
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return bad;
  if (percent) value /= 100;
  if (!(value >= 0 && value <= 1)) return bad;
  return value;
}

// The name of a job stands for its folder, as for `headway report`. What there is none of is told.
Status resolve(std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return {};
  const auto root = base::jobs_root();
  if (root.ok() && base::is_job_name(path)) {
    std::string folder = base::job_dir(root.value(), path);
    if (std::filesystem::exists(folder, error)) {
      path = std::move(folder);
      return {};
    }
  }
  return Status::not_found(fmt::format(
      "{}: no such folder or file, nor a job{}; name a job, its folder, a cache of Triton or "
      "inductor, or a trace (`headway autotune --help`)",
      path, root.ok() ? " below " + root.value() : std::string()));
}

int execute(Options options) {
  const auto epsilon = parse_epsilon(options.epsilon);
  if (!epsilon.ok()) return fail_cleanly(epsilon.status());
  if (options.paths.empty()) {
    const auto root = base::jobs_root();
    if (!root.ok()) return fail_cleanly(root.status());
    options.paths.push_back(root.value());
  }
  for (std::string& path : options.paths) {
    if (const Status status = resolve(path); !status.ok()) return fail_cleanly(status);
  }
  const auto files = autotune::find_tunings(options.paths);
  if (!files.ok()) return fail_cleanly(files.status());
  std::uint64_t bytes = 0;
  for (const autotune::TuningFile& file : files.value()) bytes += file.bytes;
  ProgressBar progress("read " + plural(files.value().size(), "file"), bytes);
  const auto collected = autotune::read_tunings(
      files.value(), {.prune = {.epsilon = epsilon.value()}, .hardware = options.hardware},
      progress.callback());
  progress.clear();
  if (!collected.ok()) return fail_cleanly(collected.status());
  AutotuneView view;
  view.collected = &collected.value();
  view.kernels = collected.value().pruner.finish();
  view.pins = autotune::count_pins(view.kernels);
  view.epsilon = epsilon.value();
  view.title = options.paths.size() == 1 ? options.paths.front()
                                         : fmt::format("{} paths", options.paths.size());
  view.all = options.all;
  if (!options.pins.empty()) {
    const Status written =
        base::write_file_atomic(options.pins, autotune::pins_module(view.kernels, epsilon.value()));
    if (!written.ok()) return fail_cleanly(written);
    view.pins_file = options.pins;
  }
  return options.json ? print_json(autotune_json(view))
                      : print_out(autotune_text(view, out_style()));
}

}  // namespace

void add_autotune(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb(
      "autotune", "What autotuning costs, and pins for the configurations that are worth trying");
  verb->add_option(
          "paths", options->paths,
          "Jobs, their folders, Triton caches, inductor caches or traces, or files of them "
          "(default: all jobs)")
      ->type_name("JOB|PATH");
  verb->add_option("--pins", options->pins, "Write a Python module that leaves out what never won")
      ->type_name("FILE.py");
  verb->add_option("--epsilon", options->epsilon,
                   "How much slower than the winner is near, which stays too; wider for what was "
                   "seldom tuned (default: 5%)")
      ->type_name("SHARE");
  verb->add_option(
          "--hardware", options->hardware,
          "Of tunings that do not say theirs, e.g. cuda:80; without it they are not pinned")
      ->type_name("NAME");
  verb->add_flag("--all", options->all, "Every kernel, and every class of shapes");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Examples:\n"
      "  headway autotune                              # all jobs that `headway run` recorded\n"
      "  headway autotune jobs/ ~/.triton/cache --pins pins.py\n"
      "  headway run --autotune-pins pins.py train.py");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
