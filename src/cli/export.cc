// headway export: a job's events, its report or its rows of the fleet's account, for other tools.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/job_path.h"
#include "cli/report_live.h"
#include "cli/report_view.h"
#include "cli/verb.h"
#include "failure/redact.h"
#include "fleet/facts_of.h"
#include "interchange/export_csv.h"
#include "interchange/export_jsonl.h"
#include "interchange/export_openmetrics.h"
#include "interchange/export_perfetto.h"
#include "interchange/export_rows.h"
#include "interchange/job_input.h"
#include "interchange/out_file.h"
#include "metrics/job_state.h"
#include "otlp/encode.h"
#include "otlp/job_spans.h"
#include "timeline/job.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using interchange::ExportCounts;
using interchange::OutFile;
using interchange::RowFormat;
using interchange::RowKind;

struct Options {
  std::string input;
  std::string format;
  std::string rows = "events";
  bool all = false;
  std::string output = "-";
  interchange::LoadOptions load;
};

// A job that runs is told as far as it is now.
std::optional<std::int64_t> now_of(const event::JobStreams& job, const Options& options) {
  return now_if_running(job, folder_of_job(place_of(options.input, options.load.root), job.job));
}

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

// A line for each attempt, with its stages, then one for the job.
ExportCounts write_otlp(const event::JobStreams& job, const Options& options, OutFile& out) {
  const std::optional<std::int64_t> now_ns = now_of(job, options);
  const timeline::JobResult result = timeline::attribute_job(job, {now_ns});
  const auto facts = fleet::facts_of(result, *job.names);
  const otlp::JobAccount account{result, *job.names, facts};
  const otlp::SpanOptions spans{.rule = shown};
  const otlp::Source source{{{"service.name", "headway"},
                             {"service.version", HEADWAY_VERSION},
                             {"headway.tenant", spans.tenant}},
                            HEADWAY_VERSION};
  for (std::size_t at = 0; at < facts.size(); ++at) {
    otlp::append_traces_json(out.buffer(), source, otlp::attempt_spans(account, at, spans));
    out.flush_some();
  }
  if (!facts.empty()) {
    const auto state = metrics::job_state(result, now_ns.has_value());
    const otlp::Span whole = otlp::job_span(account, state, spans);
    otlp::append_traces_json(out.buffer(), source, std::span(&whole, 1));
  }
  return {};
}

Result<ExportCounts> write(const Options& options, const event::JobStreams& job, OutFile& out) {
  if (options.format == "perfetto") return interchange::export_perfetto(job, out, shown);
  if (options.format == "csv") return interchange::export_csv(job, out, shown);
  if (options.format == "jsonl") return interchange::export_jsonl(job, out, shown);
  if (options.format == "otlp") return write_otlp(job, options, out);
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

int export_events(const Options& options) {
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

void add_rows(const event::JobStreams& job, const Options& options,
              interchange::RowWriter& writer) {
  const timeline::JobResult result = timeline::attribute_job(job, {now_of(job, options)});
  writer.add(job.job, fleet::facts_of(result, *job.names));
  warn(job, {});
}

// One job after the other, so that no more than one is held. One that cannot be read costs its own
// rows and the exit code.
Result<int> export_all_rows(const Options& options, interchange::RowWriter& writer, OutFile& out) {
  auto root = base::jobs_root(options.load.root);
  if (!root.ok()) return root.status();
  std::vector<std::string> jobs = interchange::recent_jobs(*root);
  if (jobs.empty()) {
    return Status::not_found(*root + ": holds no jobs; --dir names another folder of jobs");
  }
  std::ranges::sort(jobs);
  int code = kExitOk;
  for (const std::string& name : jobs) {
    Options one = options;
    one.input = name;
    auto job = interchange::load_job(name, one.load);
    if (!job.ok()) {
      fail(job.status());
      code = kExitCheckFailed;
      continue;
    }
    add_rows(*job, one, writer);
    if (!out.status().ok()) return out.status();
  }
  return code;
}

int export_rows(const Options& options) {
  std::optional<event::JobStreams> job;
  if (!options.all) {
    auto loaded = interchange::load_job(options.input, options.load);
    if (!loaded.ok()) return fail(loaded.status());
    job = std::move(*loaded);
  }
  auto out = OutFile::open(options.output);
  if (!out.ok()) return fail(out.status());
  interchange::RowWriter writer(*out,
                                options.rows == "attempts" ? RowKind::attempts : RowKind::days,
                                options.format == "csv" ? RowFormat::csv : RowFormat::jsonl, shown);
  int code = kExitOk;
  if (job) {
    add_rows(*job, options, writer);
  } else {
    auto done = export_all_rows(options, writer, *out);
    if (!done.ok()) return fail(done.status());
    code = *done;
  }
  if (const Status status = out->commit(); !status.ok()) return fail(status);
  return code;
}

int execute(const Options& options) {
  const bool rows = options.rows != "events";
  if (options.all == !options.input.empty()) {
    return fail(Status::invalid(options.all ? "--all is of every job; name none beside it"
                                            : "no job was named; name one, or give --all"));
  }
  if (options.all && !rows) {
    return fail(Status::invalid("--all goes with --rows attempts or --rows days"));
  }
  if (rows && options.format != "csv" && options.format != "jsonl") {
    return fail(Status::invalid("--rows " + options.rows + " goes with --format csv or jsonl"));
  }
  return rows ? export_rows(options) : export_events(options);
}

}  // namespace

void add_export(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb(
      "export",
      "Write a job for other tools: Perfetto, CSV, JSON lines, OpenMetrics, OpenTelemetry");
  verb->add_option("input", options->input,
                   "Name of a job, folder of journals, journal, file of JSON lines, or -")
      ->type_name("JOB|PATH");
  verb->add_option("--format", options->format, "perfetto, csv, jsonl, openmetrics or otlp")
      ->required()
      ->one_of({"perfetto", "csv", "jsonl", "openmetrics", "otlp"});
  verb->add_option("--rows", options->rows,
                   "What a row of csv or jsonl is: events (default), attempts, or days of attempts")
      ->one_of({"events", "attempts", "days"});
  verb->add_flag("--all", options->all, "Attempts or days of every job below --dir");
  verb->add_option("-o,--output", options->output, "File to write (default: standard output)")
      ->type_name("FILE");
  add_load_options(*verb, options->load);
  verb->footer(
      "A file appears whole or not at all.\n"
      "Examples:\n"
      "  headway export dlrm --format perfetto -o trace.json   # open it at ui.perfetto.dev\n"
      "  headway export --all --rows attempts --format csv -o attempts.csv   # for a data frame");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
