// headway export: a job's events, or its report, for other tools.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/job_path.h"
#include "cli/report_live.h"
#include "cli/verb.h"
#include "interchange/export_csv.h"
#include "interchange/export_jsonl.h"
#include "interchange/export_openmetrics.h"
#include "interchange/export_perfetto.h"
#include "interchange/job_input.h"
#include "interchange/out_file.h"
#include "timeline/job.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using interchange::ExportCounts;
using interchange::OutFile;

struct Options {
  std::string input;
  std::string format;
  std::string output = "-";
  std::string dir;  // empty: from the environment
  std::string job;
  bool skip_bad = false;
};

// Where to look for the lock of a living agent.
std::string place_of(const Options& options) {
  const auto root = options.dir.empty() ? base::jobs_root() : Result<std::string>(options.dir);
  if (root.ok() && base::is_job_name(options.input)) {
    std::string folder = base::job_dir(root.value(), options.input);
    if (::access(folder.c_str(), F_OK) == 0) return folder;
  }
  return options.input;
}

Result<ExportCounts> write_openmetrics(const event::JobStreams& job, const Options& options,
                                       OutFile& out) {
  timeline::JobOptions attribution;
  const std::string folder = folder_of_job(place_of(options), job.job);
  if (!folder.empty() && has_newest_attempt(job, folder) && job_is_alive(folder)) {
    attribution.now_ns = base::real_ns();
  }
  const timeline::JobResult result = timeline::attribute_job(job, attribution);
  metrics::Report report = metrics::make_report(result, job);
  // A job in a folder runs while its launcher lives: the gauge of a dead one must not stay at 1.
  if (!folder.empty() && !attribution.now_ns) report.running = false;
  out.buffer() += interchange::to_openmetrics(report);
  return ExportCounts{};
}

Result<ExportCounts> write(const Options& options, const event::JobStreams& job, OutFile& out) {
  if (options.format == "perfetto") return interchange::export_perfetto(job, out);
  if (options.format == "csv") return interchange::export_csv(job, out);
  if (options.format == "jsonl") return interchange::export_jsonl(job, out);
  return write_openmetrics(job, options, out);
}

void warn(const event::JobStreams& job, const ExportCounts& counts) {
  for (const std::string& note : job.notes) std::fprintf(stderr, "headway: %s\n", note.c_str());
  if (counts.left_out > 0) {
    fmt::print(stderr, "headway: {} events could not be expressed and were left out\n",
               counts.left_out);
  }
  if (counts.streams_gone > 0) {
    fmt::print(stderr, "headway: {} journals vanished while exporting\n", counts.streams_gone);
  }
}

int execute(const Options& options) {
  auto job = interchange::load_job(
      options.input, {.root = options.dir, .job = options.job, .skip_bad = options.skip_bad});
  if (!job.ok()) return fail(job.status());
  auto out = OutFile::open(options.output);
  if (!out.ok()) return fail(out.status());
  auto counts = write(options, *job, *out);
  if (!counts.ok()) return fail(counts.status());
  if (const Status status = out->commit(); !status.ok()) return fail(status);
  warn(*job, *counts);
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "export", "Write a job for other tools: Perfetto, CSV, JSON lines, OpenMetrics");
  verb->add_option("input", options->input,
                   "Name of a job, folder of journals, journal, file of JSON lines, or -")
      ->required()
      ->type_name("JOB|PATH");
  verb->add_option("--format", options->format, "perfetto, csv, jsonl or openmetrics")
      ->required()
      ->check(CLI::IsMember({"perfetto", "csv", "jsonl", "openmetrics"}));
  verb->add_option("-o,--output", options->output, "File to write (default: standard output)")
      ->type_name("FILE");
  verb->add_option("--job", options->job, "Which job, where the input holds several")
      ->type_name("J");
  verb->add_option("--dir", options->dir,
                   "Folder of all jobs (default: $HEADWAY_DIR, else ~/.local/state/headway)")
      ->type_name("DIR");
  verb->add_flag("--skip-bad", options->skip_bad,
                 "Count lines that cannot be read instead of stopping at the first");
  verb->footer(
      "A file appears whole or not at all.\n"
      "Example:\n"
      "  headway export dlrm --format perfetto -o trace.json   # open it at ui.perfetto.dev");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
