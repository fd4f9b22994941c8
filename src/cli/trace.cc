// headway trace: what a job compiled, why again, and why its caches missed.
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

#include "cli/human.h"
#include "cli/json_stream.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/report_folder.h"
#include "cli/trace_dynamic.h"
#include "cli/trace_html.h"
#include "cli/trace_views.h"
#include "cli/verb.h"
#include "compile/log_pieces.h"
#include "compile/trace_room.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using compile::ProcessLog;
using compile::TraceJob;

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> against;
  std::string html;
  int rank = -1;
  bool json = false;
  bool verify = false;
  bool all = false;
  bool dynamic_sources = false;
  std::optional<int> width;
};

std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    const auto pieces = compile::pieces_of(file);
    if (!pieces.ok()) continue;
    for (const std::string& piece : pieces.value()) {
      struct stat facts{};
      if (::stat(piece.c_str(), &facts) == 0) bytes += static_cast<std::uint64_t>(facts.st_size);
    }
  }
  return bytes;
}

Status keep_rank(TraceJob& job, int rank) {
  if (rank < 0) return {};
  std::string known;
  for (const ProcessLog& log : job.logs) {
    if (log.rank >= 0) known += fmt::format("{}{}", known.empty() ? "" : ", ", log.rank);
  }
  std::erase_if(job.logs, [&](const ProcessLog& log) { return log.rank != rank; });
  if (!job.logs.empty()) return {};
  return Status::not_found(
      fmt::format("--rank {}: these logs are of {}", rank,
                  known.empty() ? "one process, which has no rank" : "rank " + known));
}

Result<TraceJob> read(const Options& options) {
  auto files = compile::find_logs(options.paths);
  if (!files.ok()) return files.status();
  std::vector<std::string> others;
  if (!options.against.empty()) {
    auto found = compile::find_logs(options.against);
    if (!found.ok()) return found.status();
    others = std::move(*found);
  }
  const std::size_t count = files->size() + others.size();
  ProgressBar progress(fmt::format("read {} log{}", count, count == 1 ? "" : "s"),
                       bytes_of(*files) + bytes_of(others));
  TraceJob job;
  compile::TraceRoom room;
  compile::TraceReadOptions reading;
  reading.verify = options.verify;
  reading.sources = options.dynamic_sources;
  reading.room = &room;
  for (const bool other : {false, true}) {  // what others hold may not take the job's own room
    reading.rank = other ? -1 : options.rank;
    auto logs =
        compile::read_logs(other ? others : *files, reading, job.components, progress.callback());
    if (!logs.ok()) return logs.status();
    std::vector<ProcessLog>& into = other ? job.other : job.logs;
    into = std::move(*logs);
  }
  if (const Status status = keep_rank(job, options.rank); !status.ok()) return status;
  return job;
}

Status write_html(const TraceView& view, const Options& options) {
  ProgressBar progress("write the report", payload_bytes_of(view));
  auto report = write_trace_html(view, options.html, progress.callback());
  progress.clear();
  if (!report.ok()) return report.status();
  if (!options.json) {
    (void)print_out(fmt::format("\nwrote {}: {} texts, {}; open it in a browser\n",
                                clean(report->index, out_style()), human_count(report->payloads),
                                human_bytes(report->payload_bytes)));
  }
  return {};
}

struct Verified {
  std::uint64_t good = 0, wrong = 0, not_whole = 0;
};

Verified verified_of(const TraceJob& job) {
  Verified sum;
  for (const ProcessLog& log : job.logs) {
    sum.good += log.counts.verified_payloads;
    sum.wrong += log.counts.wrong_payloads;
    sum.not_whole += log.counts.missing_payloads + log.counts.torn_records +
                     log.counts.bad_records + log.counts.stray_lines;
  }
  return sum;
}

// What is wrong is told by the page itself.
std::string verified_text(const Verified& sum) {
  if (sum.wrong > 0) return "";
  if (sum.good == 0) return "\nno payload with an MD5 is there: nothing was verified\n";
  const char* which = sum.not_whole > 0 ? "all that could be read are as torch wrote them"
                      : sum.good == 1   ? "as torch wrote it"
                                        : "all as torch wrote them";
  return fmt::format("\n{} verified: {}\n", plural(sum.good, "payload"), which);
}

// `dynamic`: the findings of --dynamic-sources, or null.
int print_trace(const TraceView& view, const Json& dynamic) {
  JsonStream out([](std::string_view text) { return print_out(text) == kExitOk; });
  write_trace_json(view, out);
  if (!dynamic.is_null()) out.add(dynamic, "dynamic_sources");
  return out.finish() ? kExitOk : kExitBadInput;
}

int execute(const Options& options) {
  if (!options.html.empty()) {
    const Status status = ReportFolder::check(options.html);
    if (!status.ok()) return fail_cleanly(status);
  }
  auto job = read(options);
  if (!job.ok()) return fail_cleanly(job.status());
  TraceView view;
  view.job = &*job;
  view.misses = compile::explain_misses(*job);
  view.divergences = compile::compare_ranks(*job);
  std::vector<const std::vector<compile::AutotuneCost>*> costs;
  for (const ProcessLog& log : job->logs) costs.push_back(&log.autotune);
  view.autotune = compile::merge_costs(costs);
  view.title = options.paths.size() == 1 ? options.paths.front()
                                         : fmt::format("{} paths", options.paths.size());
  view.all = options.all;
  std::string text;
  Json dynamic;
  const Style style =
      choose_style(probe_output(STDOUT_FILENO), ColorWhen::automatic, options.width);
  if (options.dynamic_sources) {
    const compile::DynamicFindings found = compile::find_dynamic_sources(job->logs);
    if (options.json) dynamic = dynamic_json(found);
    if (!options.json) text = dynamic_text(found, view.title, options.all, style);
  } else if (!options.json) {
    text = trace_text(view, style);
  }
  const Verified verified = verified_of(*job);
  if (options.verify) text += verified_text(verified);
  const int printed = options.json ? print_trace(view, dynamic) : print_out(text);
  if (printed != kExitOk) return printed;
  if (!options.html.empty()) {
    if (const Status status = write_html(view, options); !status.ok()) return fail_cleanly(status);
  }
  return verified.wrong > 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace

void add_trace(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb(
      "trace", "What torch.compile did, from TORCH_TRACE logs: times, recompiles, cache misses");
  verb->add_option("paths", options->paths, "Folders of logs, or logs")
      ->required()
      ->type_name("DIR|FILE");
  verb->add_option("--against", options->against,
                   "Another trace: a miss is compared with what was compiled there, too")
      ->type_name("DIR|FILE");
  verb->add_option("--html", options->html,
                   "Write a report for a browser into this folder: graphs, guards, code")
      ->type_name("DIR");
  verb->add_option("--rank", options->rank, "Only this rank")->not_negative()->type_name("N");
  verb->add_flag("--verify", options->verify,
                 "Compare every payload with its MD5; exit code 1 where one is another");
  verb->add_flag("--all", options->all, "Every compilation and reason, however many there are");
  verb->add_flag("--dynamic-sources", options->dynamic_sources,
                 "Which sizes and numbers to make dynamic from the start, as a line for the "
                 "environment, and what it saves");
  verb->add_option("--width", options->width, "Columns (default: the terminal's, else 100)")
      ->range(width_min, width_max)
      ->type_name("N");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Examples:\n"
      "  TORCH_TRACE=/tmp/trace headway run train.py && headway trace /tmp/trace\n"
      "  headway trace /tmp/trace --html report/      # and open report/index.html\n"
      "  headway trace today/ --against yesterday/    # why did the cache not help?\n"
      "  headway trace /tmp/trace --dynamic-sources   # how not to compile for every size");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
