// headway export: a job's events, or its report, for other tools.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/job_path.h"
#include "cli/report_live.h"
#include "cli/report_view.h"
#include "cli/verb.h"
#include "failure/redact.h"
#include "interchange/export_csv.h"
#include "interchange/export_jsonl.h"
#include "interchange/export_openmetrics.h"
#include "interchange/export_perfetto.h"
#include "interchange/job_input.h"
#include "interchange/out_file.h"

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
  interchange::LoadOptions load;
};

Result<ExportCounts> write_openmetrics(const event::JobStreams& job, const Options& options,
                                       OutFile& out) {
  const std::string folder = folder_of_job(place_of(options.input, options.load.root), job.job);
  const std::optional<std::int64_t> now_ns = now_if_running(job, folder);
  auto view = view_job(job, {}, now_ns);
  if (!view.ok()) return view.status();
  // A job in a folder runs while its launcher lives: the gauge of a dead one must not stay at 1.
  if (!folder.empty() && !now_ns) view->report.running = false;
  out.buffer() += interchange::to_openmetrics(view->report);
  return ExportCounts{};
}

// What is exported goes to other people's tools: no secret of a command line or an exception's
// message leaves this way.
std::string shown(std::string_view key, std::string_view text) {
  return key.empty() ? failure::redact_text(text) : failure::redact_setting(key, text);
}

Result<ExportCounts> write(const Options& options, const event::JobStreams& job, OutFile& out) {
  if (options.format == "perfetto") return interchange::export_perfetto(job, out, shown);
  if (options.format == "csv") return interchange::export_csv(job, out, shown);
  if (options.format == "jsonl") return interchange::export_jsonl(job, out, shown);
  return write_openmetrics(job, options, out);
}

void warn(const event::JobStreams& job, const ExportCounts& counts) {
  for (const std::string& note : job.notes) {
    fmt::print(stderr, "headway: {}\n", failure::redact_text(note));
  }
  if (counts.left_out > 0) {
    fmt::print(stderr, "headway: {} events could not be expressed and were left out\n",
               counts.left_out);
  }
  if (counts.streams_gone > 0) {
    fmt::print(stderr, "headway: {} journals vanished while exporting\n", counts.streams_gone);
  }
}

int execute(const Options& options) {
  auto job = interchange::load_job(options.input, options.load);
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

void add_export(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb =
      app.add_verb("export", "Write a job for other tools: Perfetto, CSV, JSON lines, OpenMetrics");
  verb->add_option("input", options->input,
                   "Name of a job, folder of journals, journal, file of JSON lines, or -")
      ->required()
      ->type_name("JOB|PATH");
  verb->add_option("--format", options->format, "perfetto, csv, jsonl or openmetrics")
      ->required()
      ->one_of({"perfetto", "csv", "jsonl", "openmetrics"});
  verb->add_option("-o,--output", options->output, "File to write (default: standard output)")
      ->type_name("FILE");
  add_load_options(*verb, options->load);
  verb->footer(
      "A file appears whole or not at all.\n"
      "Example:\n"
      "  headway export dlrm --format perfetto -o trace.json   # open it at ui.perfetto.dev");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
