#include "interchange/import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>

#include "base/check.h"
#include "base/cut_text.h"
#include "base/file.h"
#include "base/job_path.h"
#include "interchange/export_jsonl.h"
#include "interchange/job_input.h"
#include "interchange/jsonl.h"
#include "interchange/ml_goodput.h"
#include "interchange/out_file.h"
#include "interchange/sacct_events.h"
#include "interchange/torchrun_error.h"

namespace headway::interchange {
namespace {

using base::Result;
using base::Status;
namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::array<std::pair<std::string_view, Format>, 6> kFormats = {
    {{"auto", Format::automatic},
     {"jsonl", Format::jsonl},
     {"ml-goodput", Format::ml_goodput},
     {"sacct", Format::sacct},
     {"torchrun-error", Format::torchrun_error},
     {"torch-trace", Format::torch_trace}}};

Status in_file(const std::string& path, const Status& status) {
  return {status.code(), fmt::format("{}: {}", path, status.message())};
}

Result<std::string> read_text(const std::string& path) {
  return base::read_file(path == "-" ? "/dev/stdin" : path, kForeignBytesMax);
}

class Importer {
 public:
  explicit Importer(const ImportOptions& options)
      : options_(options), lines_({.skip_bad = options.skip_bad}) {}

  Status take(const std::string& path) {
    auto format = format_of(path, options_.format);
    if (!format.ok()) return format.status();
    summary.files.emplace_back(path, *format);
    switch (*format) {
      case Format::jsonl:
        return lines_.read(path, builder_);
      case Format::ml_goodput:
        return take_goodput(path);
      case Format::sacct:
        return take_sacct(path);
      case Format::torchrun_error:
        return take_error(path);
      case Format::torch_trace:
        return Status::invalid(path + ": TORCH_TRACE logs are imported by themselves");
      case Format::automatic:
        break;
    }
    HW_CHECK(false);
  }

  Result<std::vector<event::JobStreams>> finish() {
    summary.bad_lines += lines_.bad_lines();
    note_all(lines_.bad_notes());
    const auto unknown = lines_.unknown_keys();
    if (!unknown.empty()) {
      summary.notes.push_back(
          fmt::format("keys without a meaning here: {}", fmt::join(unknown, ", ")));
    }
    if (builder_.lines() == 0) return Status::invalid("there is nothing to import in the input");
    auto jobs = builder_.finish(options_.job.empty() ? "imported" : options_.job, {});
    if (!jobs.ok() || options_.job.empty()) return jobs;
    std::erase_if(*jobs, [this](const auto& job) { return job.job != options_.job; });
    if (jobs->empty()) {
      return Status::not_found(fmt::format(
          "the input has no event of job {}: its lines name another (leave --job out to take them)",
          options_.job));
    }
    return jobs;
  }

  ImportSummary summary;

 private:
  void note_all(const std::vector<std::string>& notes) {
    summary.notes.insert(summary.notes.end(), notes.begin(), notes.end());
  }

  Status take_goodput(const std::string& path) {
    auto text = read_text(path);
    if (!text.ok()) return text.status();
    auto log = parse_goodput(*text, options_.skip_bad);
    if (!log.ok()) return in_file(path, log.status());
    summary.bad_lines += log->bad;
    summary.ignored += log->ignored;
    note_all(log->notes);
    const Status status = add_goodput(*log, options_.job, path, builder_);
    return status.ok() ? status : in_file(path, status);
  }

  Status take_sacct(const std::string& path) {
    auto text = read_text(path);
    if (!text.ok()) return text.status();
    auto table = parse_sacct(*text, {.zone = options_.zone, .skip_bad = options_.skip_bad});
    if (!table.ok()) return in_file(path, table.status());
    summary.bad_lines += table->bad_rows;
    summary.ignored += table->step_rows;
    note_all(table->notes);
    SacctMapping mapping;
    mapping.job = options_.job;
    mapping.slurm_job_ids = options_.slurm_job_ids;
    mapping.known_attempts = recorded_attempts();
    auto taken = add_sacct(*table, mapping, path, builder_);
    if (!taken.ok()) return in_file(path, taken.status());
    return {};
  }

  // The launches that the job has told of itself, by journals or by lines imported before.
  [[nodiscard]] std::vector<std::int64_t> recorded_attempts() const {
    std::vector<std::int64_t> attempts;
    const auto job = recorded_job(options_.root, options_.job);
    if (!job) return attempts;
    for (const auto& stream : job->streams) attempts.push_back(stream.info.attempt);
    return attempts;
  }

  Status take_error(const std::string& path) {
    auto text = read_text(path);
    if (!text.ok()) return text.status();
    auto error = parse_torchrun_error(*text);
    if (!error.ok()) return in_file(path, error.status());
    if (options_.job.empty()) {
      return Status::invalid(fmt::format(
          "{}: an error file does not say which job it is of: name it with --job", path));
    }
    if (!error->t_ns) {
      struct stat st{};
      if (path == "-" || ::stat(path.c_str(), &st) != 0) {
        return Status::invalid(fmt::format("{}: the error has no timestamp", path));
      }
      error->t_ns =
          static_cast<std::int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 + st.st_mtim.tv_nsec;
      summary.notes.push_back(
          fmt::format("{}: the error has no timestamp: the file's own was taken", path));
    }
    const ErrorPlace place = place_of_error_file(path);
    const std::string reason = base::cut_in_the_middle(error->reason, kTextBytesMax);
    Line line;
    line.job = options_.job;
    line.has_time = true;
    line.t_ns = *error->t_ns;
    line.attempt = options_.attempt ? *options_.attempt : place.restart.value_or(0) + 1;
    line.rank = options_.rank ? *options_.rank : place.rank.value_or(0);
    line.type = event::EventType::mark;
    line.code = HW_MARK_FAILURE;
    line.end = {.exit_code = error->exit_code, .origin = HW_ORIGIN_USER, .rank = line.rank};
    line.name = reason;
    return builder_.add(line, path);
  }

  const ImportOptions& options_;
  StreamBuilder builder_;
  JsonlInput lines_;
};

}  // namespace

Result<Format> format_of(const std::string& path, Format asked) {
  if (asked != Format::automatic) return asked;
  if (path == "-") return Format::jsonl;  // cannot be read twice
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return Format::torch_trace;
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::errno_status(path, "cannot open", errno);
  std::string head(kHeadBytes, '\0');
  const long n = base::pread_full(fd.get(), head.data(), head.size(), 0);
  if (n < 0) return base::errno_status(path, "cannot read", errno);
  head.resize(static_cast<std::size_t>(n));
  if (const auto found = detect_format(head)) return *found;
  return Status::invalid(
      fmt::format("{}: its format cannot be told from its beginning; say which with --format "
                  "(jsonl, ml-goodput, sacct, torchrun-error or torch-trace)",
                  path));
}

Result<ImportedJob> write_imported(const event::JobStreams& job, const std::string& root) {
  if (Status status = base::check_job_name(job.job); !status.ok()) {
    return Status::invalid(status.message() + "; rename it with --job");
  }
  const std::string folder = base::job_dir(root, job.job);
  if (Status status = base::make_dirs(folder); !status.ok()) return status;
  auto out = OutFile::open(folder + "/imported");
  if (!out.ok()) return out.status();
  auto counts = export_jsonl(job, *out);
  if (!counts.ok()) return counts.status();
  ImportedJob done;
  done.job = job.job;
  done.path = fmt::format("{}/imported-{}.jsonl", folder, out->hash());
  done.events = counts->events;
  done.duplicates_dropped = job.duplicates_dropped;
  std::set<std::int64_t> attempts;
  for (const auto& stream : job.streams) attempts.insert(stream.info.attempt);
  done.attempts = attempts.size();
  std::error_code error;
  if (fs::exists(done.path, error)) {
    done.already_there = true;
    out->discard();
    return done;
  }
  if (Status status = out->commit(done.path); !status.ok()) return status;
  return done;
}

std::optional<event::JobStreams> recorded_job(const std::string& root, const std::string& job) {
  if (job.empty() || !base::is_job_name(job)) return std::nullopt;
  const std::string folder = base::job_dir(root, job);
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::nullopt;
  auto found = load_job(folder, {.root = root, .job = job, .skip_bad = true});
  if (!found.ok()) return std::nullopt;
  return std::move(*found);
}

std::optional<Format> format_from_name(std::string_view name) {
  for (const auto& [text, format] : kFormats) {
    if (text == name) return format;
  }
  return std::nullopt;
}

std::string_view format_name(Format format) {
  for (const auto& [text, f] : kFormats) {
    if (f == format) return text;
  }
  return "";
}

std::optional<Format> detect_format(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view line = head.substr(first, head.find('\n', first) - first);
  const auto has = [](std::string_view text, std::string_view what) {
    return text.find(what) != std::string_view::npos;
  };
  // "V1117 12:13:13.262000 11797 torch/…] {": glog's prefix, and JSON.
  if (line.size() > 22 && line[0] == 'V' && line[5] == ' ' && line[8] == ':' && line[14] == '.' &&
      has(line, "] {")) {
    return Format::torch_trace;
  }
  if (line[0] != '{' && line[0] != '[') {
    return has(line, "JobID") && has(line, "|") ? std::optional(Format::sacct) : std::nullopt;
  }
  if (line[0] == '[' ||
      (has(head, "\"job_name\"") && (has(head, "_time\"") || has(head, "\"event_type\"")))) {
    return Format::ml_goodput;
  }
  // Pretty-printed files put "message" on a later line.
  if (!has(head, "\"type\"") && has(head, "\"message\"")) return Format::torchrun_error;
  if (has(head, "\"type\"")) return Format::jsonl;
  return std::nullopt;
}

Result<ImportSummary> import_files(const std::vector<std::string>& paths,
                                   const ImportOptions& given) {
  ImportOptions options = given;
  auto root = base::jobs_root(options.root);
  if (!root.ok()) return root.status();
  options.root = std::move(*root);
  Importer importer(options);
  for (const std::string& path : paths) {
    if (Status status = importer.take(path); !status.ok()) return status;
  }
  auto jobs = importer.finish();
  if (!jobs.ok()) return jobs.status();
  for (const event::JobStreams& job : *jobs) {
    auto written = write_imported(job, options.root);
    if (!written.ok()) return written.status();
    importer.summary.jobs.push_back(std::move(*written));
  }
  return std::move(importer.summary);
}

}  // namespace headway::interchange
