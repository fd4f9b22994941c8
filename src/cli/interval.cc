// headway interval: how often to save.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/duration.h"
#include "base/file.h"
#include "base/job_path.h"
#include "cli/interval_question.h"
#include "cli/interval_views.h"
#include "cli/output.h"
#include "cli/report_live.h"
#include "cli/report_window.h"
#include "cli/style.h"
#include "cli/verb.h"
#include "interchange/job_input.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using interval::Tier;

constexpr double kDay = 86'400;
constexpr double kFailuresPerDayMax = 1e6;
constexpr int kSavesInFlightMax = 16;

struct Options {
  std::string input;
  interchange::LoadOptions load;
  std::optional<std::string> blocking, interference, persist_lag, stage, loop_time, window;
  std::optional<double> failures_per_day, process_share;
  int saves_in_flight = 1;
  std::string plot;
  std::string color = "auto";
  std::optional<int> width;
  bool json = false;
};

// Seconds of a time that an option states; nullopt where it was not given.
Result<std::optional<double>> seconds_of(const char* option,
                                         const std::optional<std::string>& text) {
  if (!text) return std::optional<double>();
  const std::optional<std::int64_t> ns = base::parse_duration(*text);
  if (!ns) {
    return Status::invalid(
        fmt::format("interval: {} {}: want a time such as 500ms, 15s, 2m or 1h", option, *text));
  }
  return std::optional(static_cast<double>(*ns) / 1e9);
}

struct Stated {
  std::optional<double> blocking_s, interference_s, persist_lag_s, stage_s, loop_s;
};

Result<Stated> read_times(const Options& o) {
  Stated out;
  struct Row {
    const char* option;
    const std::optional<std::string>* text;
    std::optional<double>* seconds;
  };
  for (const Row& row :
       {Row{"--blocking", &o.blocking, &out.blocking_s},
        Row{"--interference", &o.interference, &out.interference_s},
        Row{"--persist-lag", &o.persist_lag, &out.persist_lag_s},
        Row{"--stage", &o.stage, &out.stage_s}, Row{"--loop-time", &o.loop_time, &out.loop_s}}) {
    auto seconds = seconds_of(row.option, *row.text);
    if (!seconds.ok()) return seconds.status();
    *row.seconds = seconds.value();
  }
  if (out.loop_s && *out.loop_s <= 0) {
    return Status::invalid("interval: --loop-time 0: want a time above 0");
  }
  if (o.failures_per_day &&
      !(*o.failures_per_day > 0 && *o.failures_per_day <= kFailuresPerDayMax)) {
    return Status::invalid(
        fmt::format("interval: --failures-per-day {}: want a number above 0, at most {:.0f}; leave "
                    "it out if nothing is known",
                    *o.failures_per_day, kFailuresPerDayMax));
  }
  if (o.process_share && !(*o.process_share >= 0 && *o.process_share <= 1)) {
    return Status::invalid(
        fmt::format("interval: --process-share {}: want a share from 0 to 1", *o.process_share));
  }
  if (o.process_share && !out.stage_s) {
    return Status::invalid(
        "interval: --process-share needs --stage: without state in memory all failures begin again "
        "from storage");
  }
  return out;
}

Result<IntervalJob> measure(const Options& options) {
  auto wanted = parse_window(options.window.value_or(kIntervalWindow));
  if (!wanted.ok()) return wanted.status();
  std::string name = options.input.empty() ? options.load.job : options.input;
  if (name.empty()) {
    const Result<std::string> root = base::jobs_root(options.load.root);
    if (!root.ok()) return root.status();
    auto newest = interchange::newest_job(
        root.value(), "name a file or folder, or state costs: `headway interval --blocking 15s`");
    if (!newest.ok()) return newest.status();
    name = newest.value();
  }
  auto streams = interchange::load_job(name, options.load);
  if (!streams.ok()) return streams.status();
  const std::string folder = folder_of_job(place_of(name, options.load.root), streams->job);
  const timeline::JobResult job =
      timeline::attribute_job(*streams, {.now_ns = now_if_running(*streams, folder)});
  // A week back from the end of a shorter job is before its begin: all of it.
  auto window = resolve_window(wanted.value(), job);
  if (!window.ok()) return window.status();
  IntervalJob out = measure_job(*streams, job, *window);
  if (out.steps > 0) return out;
  return Status::invalid(
      fmt::format("{}: no finished step {}, so there is nothing to measure; state costs instead: "
                  "`headway interval --blocking 15s --failures-per-day 3`",
                  name, options.window ? "in this window" : "was recorded"));
}

// The stated rate, shared out between what memory answers and what only storage does.
interval::Failures stated_rate(const Options& options, bool replica) {
  const double per_s = *options.failures_per_day / kDay;
  const double share = replica ? options.process_share.value_or(interval::Prior{}.share[0]) : 0;
  interval::Failures out;
  out[Tier::process] = {per_s * share, replica ? 1.0 : 0.0};
  out[Tier::node] = {per_s * (1 - share), 0};
  return out;
}

void take_stated(const Stated& stated, const Options& options, IntervalQuestion& q) {
  if (stated.blocking_s) {
    // Who states what a save blocks speaks of another way to save: the old slow steps do not count.
    q.cost = interval::SaveCost{};
    q.cost.blocking_s = *stated.blocking_s;
    q.cost_assumed = false;
    q.replica = false;
  }
  if (stated.interference_s) q.cost.interference_s = *stated.interference_s;
  if (stated.persist_lag_s) q.cost.persist_lag_s = *stated.persist_lag_s;
  q.cost.in_flight_max = options.saves_in_flight;
  if (stated.stage_s) {
    q.replica = true;
    q.cost.stage_s = *stated.stage_s;
  }
  if (stated.loop_s) q.loop_s = *stated.loop_s;
}

Result<IntervalQuestion> ask(const Options& options) {
  auto stated = read_times(options);
  if (!stated.ok()) return stated.status();
  IntervalQuestion q;
  const bool named = !options.input.empty() || !options.load.job.empty() ||
                     !options.load.root.empty() || options.window.has_value();
  const bool anything_stated =
      stated->blocking_s || stated->interference_s || options.failures_per_day;
  if (named || !anything_stated) {
    auto job = measure(options);
    if (!job.ok()) return job.status();
    q = question_of(std::move(*job));
    const Known known{stated->blocking_s.has_value(), options.failures_per_day.has_value()};
    q.too_short = too_short(*q.job, known).value_or("");
  } else if (!stated->blocking_s) {
    return Status::invalid(
        "interval: --blocking is missing: how long does a save keep the loop waiting? For example "
        "--blocking 15s; or name a job that was recorded");
  }
  take_stated(*stated, options, q);
  if (q.cost.effective_s() <= 0 && q.too_short.empty()) {
    return Status::invalid(
        "interval: a save costs nothing here, so save after every step; state a cost with "
        "--blocking or --interference to reckon with one");
  }
  if (options.failures_per_day) {
    q.rate.reset();
    q.failures = stated_rate(options, q.replica);
  } else {
    if (!q.rate) q.rate = interval::RateEstimate();
    q.failures = q.rate->failures(q.replica, q.job ? q.job->answered : interval::Answered());
  }
  return q;
}

// The picture is an SVG: a name that says otherwise would be a file that nobody can open.
Status check_plot(const std::string& path) {
  if (path.empty()) return {};
  const std::filesystem::path plot(path);
  std::string ending = plot.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), ::tolower);
  if (!ending.empty() && ending != ".svg") {
    return Status::invalid(
        fmt::format("interval: --plot {}: the picture is an SVG; name it {}, and turn that into "
                    "another format with `rsvg-convert`",
                    path, std::filesystem::path(plot).replace_extension(".svg").string()));
  }
  const std::string folder = plot.has_parent_path() ? plot.parent_path().string() : ".";
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return {};
  return Status::invalid(fmt::format(
      "interval: --plot {}: there is no folder {}; make it first (mkdir -p)", path, folder));
}

int execute(const Options& options) {
  if (const Status plot = check_plot(options.plot); !plot.ok()) return fail(plot);
  auto question = ask(options);
  if (!question.ok()) return fail(question.status());
  const bool says = question->too_short.empty();
  const IntervalAnswer found =
      says ? answer(std::move(*question)) : unanswered(std::move(*question));
  if (!options.plot.empty() && says) {
    const Status written = base::write_file_atomic(options.plot, interval_svg(found));
    if (!written.ok()) return fail(written);
  }
  if (!options.plot.empty() && !says) {
    fmt::print(stderr, "headway: --plot {}: no picture was written: the record is too short\n",
               options.plot);
  }
  const Style style = choose_style(probe_output(STDOUT_FILENO),
                                   options.color == "always"  ? ColorWhen::always
                                   : options.color == "never" ? ColorWhen::never
                                                              : ColorWhen::automatic,
                                   options.width);
  return print_out(options.json ? interval_json(found) : interval_text(found, style));
}

void add_options(Verb& verb, Options& o) {
  verb.add_option("input", o.input,
                  "A job that was recorded: its name, folder, journal, file of JSON lines, or - "
                  "(default: the most recent job, unless costs are stated)")
      ->type_name("JOB|PATH");
  verb.add_option("--blocking", o.blocking,
                  "How long a save keeps the loop waiting: 500ms, 15s, 2m")
      ->type_name("TIME");
  verb.add_option("--failures-per-day", o.failures_per_day,
                  "Failures in a day in the loop (default: what the job shows, beginning from 1)")
      ->type_name("N");
  verb.add_option("--interference", o.interference,
                  "What slower steps add up to until a save is durable (default: 0, or as seen)")
      ->type_name("TIME");
  verb.add_option("--persist-lag", o.persist_lag,
                  "From the end of the blocking to durable (default: 0, or as seen)")
      ->type_name("TIME");
  verb.add_option("--saves-in-flight", o.saves_in_flight,
                  "Saves that may be on their way at once (default: 1)")
      ->range(1, kSavesInFlightMax)
      ->type_name("N");
  verb.add_option("--stage", o.stage,
                  "Cost of a save into memory that outlives the process: two intervals are found")
      ->type_name("TIME");
  verb.add_option("--process-share", o.process_share,
                  "With --stage and --failures-per-day: the part of the failures that leave the "
                  "machine and its memory alone (default: 0.6)")
      ->type_name("SHARE");
  verb.add_option("--loop-time,--horizon", o.loop_time,
                  "Time in the loop that shares are told of (default: 1d, or the job's)")
      ->type_name("TIME");
  verb.add_option(
          "--window", o.window,
          "Only this part of the job, as in `headway report` (default: -7d.., its last week)")
      ->type_name("A..B");
  add_load_options(verb, o.load);
  verb.add_flag("--json", o.json, "Print a JSON object for programs");
  verb.add_option("--plot", o.plot, "Write the curve as a picture (SVG)")->type_name("FILE");
  verb.add_option("--width", o.width, "Columns (default: the terminal's, else 100)")
      ->range(width_min, width_max)
      ->type_name("N");
  verb.add_option("--color", o.color, "auto, always or never (default: auto)")
      ->one_of({"auto", "always", "never"})
      ->type_name("WHEN");
}

}  // namespace

void add_interval(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb("interval", "Say how often to save checkpoints");
  add_options(*verb, *options);
  verb->footer(
      "Saving more often costs time, saving less often costs work when the job fails.\n"
      "\n"
      "Examples:\n"
      "  headway interval --blocking 15s --failures-per-day 3\n"
      "  headway interval --blocking 800ms --interference 31s --persist-lag 67s\n"
      "  headway interval nightly --plot interval.svg");
  verb->callback([options, verb, &exit_code] {
    const bool empty = verb->count("input") > 0 && options->input.empty();
    exit_code =
        empty ? fail(Status::invalid("interval: the name of the job is empty")) : execute(*options);
  });
}

}  // namespace headway::cli
