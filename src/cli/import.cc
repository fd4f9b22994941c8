// headway import: files of other tools into a job's folder.
#include "interchange/import.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/human.h"
#include "cli/verb.h"
#include "compile/import_trace.h"

namespace headway::cli {
namespace {

using interchange::ImportSummary;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> sacct_files;
  std::string format = "auto";
  interchange::ImportOptions import;
  std::int64_t attempt = -1;
  std::int64_t rank = -1;
  bool utc = false;
  bool json = false;
};

void print_json(const ImportSummary& summary) {
  nlohmann::ordered_json out;
  out["files"] = nlohmann::ordered_json::array();
  for (const auto& [path, format] : summary.files) {
    out["files"].push_back({{"path", path}, {"format", interchange::format_name(format)}});
  }
  out["jobs"] = nlohmann::ordered_json::array();
  for (const auto& job : summary.jobs) {
    out["jobs"].push_back({{"job", job.job},
                           {"path", job.path},
                           {"already_there", job.already_there},
                           {"events", job.events},
                           {"attempts", job.attempts},
                           {"duplicates_dropped", job.duplicates_dropped}});
  }
  out["bad_lines"] = summary.bad_lines;
  out["ignored"] = summary.ignored;
  out["notes"] = summary.notes;
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  fmt::print("{}\n", out.dump(2, ' ', false, kReplace));
}

void print_text(const ImportSummary& summary, const std::string& dir) {
  for (const auto& [path, format] : summary.files) {
    fmt::print("read     {} as {}\n", path, interchange::format_name(format));
  }
  for (const auto& job : summary.jobs) {
    fmt::print("{} {}: {} events of {} attempt{}{}\n", job.already_there ? "had     " : "imported",
               job.job, job.events, job.attempts, job.attempts == 1 ? "" : "s",
               job.already_there ? ", which were there already" : "");
    fmt::print("         {}\n", job.path);
    if (job.duplicates_dropped > 0) {
      fmt::print("         {} dropped\n", plural(job.duplicates_dropped, "identical line"));
    }
  }
  if (summary.ignored > 0) fmt::print("passed   {} rows that carry no event\n", summary.ignored);
  if (summary.bad_lines > 0) fmt::print("skipped  {}\n", plural(summary.bad_lines, "bad line"));
  for (const std::string& note : summary.notes) fmt::print("note     {}\n", note);
  if (summary.jobs.size() == 1) {
    // A line to paste: the folder is named if it was named to us.
    fmt::print("see it with: headway report {}{}\n", summary.jobs[0].job,
               dir.empty() ? "" : fmt::format(" --dir '{}'", dir));
  }
}

// Whatever else comes first: a trace is laid into what the job has then.
base::Result<ImportSummary> import_all(const Options& options) {
  std::vector<std::string> traces, others;
  for (const std::string& file : options.files) {
    auto format = interchange::format_of(file, options.import.format);
    if (!format.ok()) return format.status();
    (*format == interchange::Format::torch_trace ? traces : others).push_back(file);
  }
  ImportSummary out;
  for (const bool trace : {false, true}) {
    const std::vector<std::string>& files = trace ? traces : others;
    if (files.empty()) continue;
    auto one = trace ? compile::import_trace(files, options.import)
                     : interchange::import_files(files, options.import);
    if (!one.ok()) return one.status();
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(out.files, one->files);
    append(out.jobs, one->jobs);
    append(out.notes, one->notes);
    out.bad_lines += one->bad_lines;
    out.ignored += one->ignored;
  }
  return out;
}

int execute(Options& options) {
  const auto format = interchange::format_from_name(options.format);
  if (!format) {
    return fail(base::Status::invalid(fmt::format(
        "--format {}: use auto, jsonl, ml-goodput, sacct, torchrun-error or torch-trace",
        options.format)));
  }
  options.import.format = *format;
  if (!options.sacct_files.empty()) {
    if (!options.files.empty()) {
      return fail(base::Status::invalid("import: give either FILE... or --sacct FILE, not both"));
    }
    options.files = options.sacct_files;
    options.import.format = interchange::Format::sacct;
  }
  if (options.files.empty()) {
    return fail(base::Status::invalid("import: no file was named (- is standard input)"));
  }
  if (options.attempt >= 0) options.import.attempt = options.attempt;
  if (options.rank >= 0) options.import.rank = static_cast<std::uint32_t>(options.rank);
  if (options.utc) options.import.zone = interchange::Zone::utc;
  auto summary = import_all(options);
  if (!summary.ok()) return fail(summary.status());
  options.json ? print_json(*summary) : print_text(*summary, options.import.root);
  return kExitOk;
}

}  // namespace

void add_import(Verb& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Verb* verb = app.add_verb(
      "import",
      "Take over files of other tools: JSON lines, ml-goodput logs, sacct, torchrun errors, "
      "torch.compile traces");
  verb->add_option("file", options->files,
                   "Files to read; - is standard input; also folders of TORCH_TRACE logs")
      ->type_name("FILE");
  verb->add_option("--format", options->format,
                   "auto, jsonl, ml-goodput, sacct, torchrun-error or torch-trace (default: auto)");
  verb->add_option("--sacct", options->sacct_files, "The same as --format sacct FILE")
      ->type_name("FILE")
      ->last_counts();
  verb->add_option("--job", options->import.job,
                   "The job it belongs to; of JSON lines that name jobs, the one to take")
      ->type_name("J");
  verb->add_option("--slurm-job-id", options->import.slurm_job_ids,
                   "Only these jobs of sacct's (repeat it, or separate them by commas)")
      ->type_name("ID")
      ->separated_by_commas();
  verb->add_option(
          "--attempt", options->attempt,
          "Attempt of a torchrun error (default: from its path, else 1) or of a trace (default: "
          "by its time)")
      ->range(0, interchange::kAttemptMax);
  verb->add_option("--rank", options->rank,
                   "Rank of a torchrun error (default: from its path, else 0) or of a trace")
      ->range(0, interchange::kRankMax);
  verb->add_flag("--utc", options->utc, "sacct's times are UTC (default: local, by TZ)");
  verb->add_flag("--skip-bad", options->import.skip_bad,
                 "Count lines that cannot be read instead of stopping at the first");
  add_dir_option(*verb, options->import.root, "--dir,--to");
  verb->add_flag("--json", options->json, "Print a JSON object for programs");
  verb->footer(
      "Importing the same twice changes nothing.\n"
      "Examples:\n"
      "  headway import events.jsonl\n"
      "  sacct -D -j 4242 --parsable2 -o JobID,JobName,State,Submit,Eligible,Start,End,ExitCode,"
      "NodeList,Reason > acct.txt\n"
      "  headway import /tmp/trace --job dlrm    # what TORCH_TRACE=/tmp/trace torchrun … left\n"
      "  headway import --sacct acct.txt --job dlrm --slurm-job-id 4242");
  verb->callback([options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace headway::cli
