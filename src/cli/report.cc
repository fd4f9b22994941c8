// headway report: what became of a job's time.
#include "metrics/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/job_path.h"
#include "cli/output.h"
#include "cli/report_against.h"
#include "cli/report_live.h"
#include "cli/report_text.h"
#include "cli/report_view.h"
#include "cli/report_window.h"
#include "cli/style.h"
#include "cli/verb.h"
#include "interchange/job_input.h"
#include "metrics/comparison.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using interchange::LoadOptions;

struct Options {
  std::string input;
  interchange::LoadOptions load;
  std::optional<std::string> window;
  std::optional<std::string> against;
  std::string color = "auto";
  std::optional<int> width;
  bool json = false;
};

ColorWhen color_when(const std::string& word) {
  if (word == "always") return ColorWhen::always;
  return word == "never" ? ColorWhen::never : ColorWhen::automatic;
}

struct Input {
  std::string name;   // for the loader
  std::string path;   // of the job's folder or the file, for the look at its lock
  std::string found;  // how it was chosen, when nobody named it
};

Result<Input> choose_input(const Options& options) {
  const LoadOptions& load = options.load;
  if (!options.input.empty()) {
    return Input{options.input, place_of(options.input, load.root), ""};
  }
  const Result<std::string> root = base::jobs_root(load.root);
  if (!root.ok()) return root.status();
  const Result<std::string> newest = interchange::newest_job(
      root.value(), "start one with `headway run train.py`, or name a file or folder");
  if (!newest.ok()) return newest.status();
  const std::string name = load.job.empty() ? newest.value() : load.job;
  return Input{name, base::job_dir(root.value(), name),
               load.job.empty() ? "the most recent in " + root.value() : ""};
}

// Where the ranks that failed wrote to, if the launcher kept it.
void find_logs(const std::string& folder, metrics::Report& report) {
  if (folder.empty()) return;
  for (metrics::FailureRow& row : report.failure_rows) {
    if (!row.rank) continue;
    std::string path = base::rank_log_path(fmt::format("{}/{}", folder, row.attempt), *row.rank);
    if (::access(path.c_str(), R_OK) == 0) row.log = std::move(path);
  }
}

struct Seen {
  View view;
  TextOptions text;
};

Result<Seen> look_at(const Input& input, const LoadOptions& load,
                     const std::optional<WindowText>& window, const Options& options) {
  auto streams = interchange::load_job(input.name, load);
  if (!streams.ok()) return streams.status();
  const std::string folder = folder_of_job(input.path, streams->job);
  auto view = view_job(*streams, window, now_if_running(*streams, folder),
                       !options.json && !options.against);
  if (!view.ok()) return view.status();
  find_logs(folder, view->report);
  TextOptions text;
  text.style = choose_style(probe_output(STDOUT_FILENO), color_when(options.color), options.width);
  text.state = view->state;
  text.found = input.found;
  text.windowed = view->windowed;
  text.job_wall_ns = view->job_wall_ns;
  text.saves = view->saves;
  return Seen{std::move(view.value()), std::move(text)};
}

Result<std::string> make_comparison(const Seen& job, const Options& options) {
  LoadOptions load = options.load;
  load.job.clear();  // says which one the first input means
  const Input input{*options.against, place_of(*options.against, load.root), ""};
  auto against = look_at(input, load, std::nullopt, options);
  if (!against.ok()) return against.status();
  const metrics::Comparison comparison = metrics::compare(job.view.report, against->view.report);
  if (options.json) return metrics::to_json(comparison) + "\n";
  return to_text(comparison, {job.view.report, job.text}, {against->view.report, against->text});
}

Result<std::string> make_text(const Options& options) {
  std::optional<WindowText> wanted;
  if (options.window) {
    auto parsed = parse_window(*options.window);
    if (!parsed.ok()) return parsed.status();
    wanted = parsed.value();
  }
  auto input = choose_input(options);
  if (!input.ok()) return input.status();
  auto seen = look_at(*input, options.load, wanted, options);
  if (!seen.ok()) return seen.status();
  if (options.against) return make_comparison(*seen, options);
  if (options.json) return metrics::to_json(seen->view.report) + "\n";
  return to_text(seen->view.report, seen->text);
}

int execute(const Options& options) {
  const Result<std::string> text = make_text(options);
  if (!text.ok()) return fail(text.status());
  return print_out(text.value());  // a full disk must not look like a report
}

}  // namespace

void add_report(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb("report", "Say where the time of a job went");
  verb->add_option("input", options->input,
                   "Name of a job, folder of journals, journal, file of JSON lines, or - "
                   "(default: the most recent job)")
      ->type_name("JOB|PATH");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  Option* window = verb->add_option("--window", options->window,
                                    "Only this part: 0..60, 10m..1h30m, -1h.., "
                                    "2026-11-15T21:40:00Z..2026-11-15T22:00:00Z")
                       ->type_name("A..B");
  verb->add_option("--against", options->against,
                   "Another job, side by side with this one: what is better, how many times")
      ->type_name("JOB|PATH")
      ->excludes(window);
  add_load_options(*verb, options->load);
  verb->add_option("--width", options->width, "Columns (default: the terminal's, else 100)")
      ->range(width_min, width_max)
      ->type_name("N");
  verb->add_option("--color", options->color, "auto, always or never (default: auto)")
      ->one_of({"auto", "always", "never"})
      ->type_name("WHEN");
  verb->footer(
      "Every nanosecond of the job's wall time is in exactly one line of the table.\n"
      "\n"
      "Examples:\n"
      "  headway report\n"
      "  headway report nightly --window -1h..\n"
      "  headway report tonight --against yesterday\n"
      "  headway report events.jsonl --json");
  verb->callback([options, verb, &exit_code] {
    // An unset variable of a script must not mean "the most recent job".
    const bool empty = (verb->count("input") > 0 && options->input.empty()) ||
                       (options->against && options->against->empty());
    exit_code =
        empty ? fail(Status::invalid("report: the name of the job is empty")) : execute(*options);
  });
}

}  // namespace headway::cli
