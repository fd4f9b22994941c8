// headway trace: what a job compiled, why again, and why its caches missed.
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

#include "cli/progress.h"
#include "cli/trace_views.h"
#include "cli/verb.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using compile::ProcessLog;
using compile::TraceJob;

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> against;
  int rank = -1;
  bool json = false;
  bool verify = false;
  bool all = false;
};

std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    struct stat facts{};
    if (::stat(file.c_str(), &facts) == 0) bytes += static_cast<std::uint64_t>(facts.st_size);
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
                  known.empty() ? "a job that has no ranks" : "rank " + known));
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
  for (const bool other : {true, false}) {
    auto logs = compile::read_logs(other ? others : *files, {.verify = options.verify},
                                   job.components, progress.callback());
    if (!logs.ok()) return logs.status();
    std::vector<ProcessLog>& into = other ? job.other : job.logs;
    into = std::move(*logs);
  }
  if (const Status status = keep_rank(job, options.rank); !status.ok()) return status;
  return job;
}

int execute(const Options& options) {
  auto job = read(options);
  if (!job.ok()) return fail_cleanly(job.status());
  TraceView view;
  view.job = &*job;
  view.misses = compile::explain_misses(*job);
  view.divergences = compile::compare_ranks(*job);
  view.title = options.paths.size() == 1 ? options.paths.front()
                                         : fmt::format("{} paths", options.paths.size());
  view.all = options.all;
  const int printed =
      options.json ? print_json(trace_json(view)) : print_out(trace_text(view, out_style()));
  if (printed != kExitOk) return printed;
  std::uint64_t wrong = 0;
  for (const ProcessLog& log : job->logs) wrong += log.counts.wrong_payloads;
  return wrong > 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace

void add_trace(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "trace", "What torch.compile did, from TORCH_TRACE logs: times, recompiles, cache misses");
  verb->add_option("paths", options->paths, "Folders of logs, or logs")
      ->required()
      ->type_name("DIR|FILE");
  verb->add_option("--against", options->against,
                   "Another trace: a miss is compared with what was compiled there, too")
      ->type_name("DIR|FILE");
  verb->add_option("--rank", options->rank, "Only this rank")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  verb->add_flag("--verify", options->verify,
                 "Compare every payload with its MD5; exit code 1 where one is another");
  verb->add_flag("--all", options->all, "Every compilation and reason, however many there are");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Examples:\n"
      "  TORCH_TRACE=/tmp/trace headway run train.py && headway trace /tmp/trace\n"
      "  headway trace today/ --against yesterday/    # why did the cache not help?");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
