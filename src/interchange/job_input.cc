#include "interchange/job_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/check.h"
#include "base/file.h"
#include "base/job_path.h"
#include "base/near_name.h"
#include "interchange/journal_files.h"
#include "interchange/jsonl.h"

namespace headway::interchange {
namespace {

using base::Result;
using base::Status;
namespace fs = std::filesystem;

constexpr std::string_view kLinesSuffix = ".jsonl";

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kJobsListedMax; ++i) {
    out += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kJobsListedMax) {
    out += fmt::format(" and {} more", names.size() - kJobsListedMax);
  }
  return out;
}

// `also`: what else it might have been, and is not.
Status no_such(const std::string& name, std::string_view also, const std::string& root) {
  std::vector<std::string> jobs = recent_jobs(root);
  if (jobs.empty()) {
    return Status::not_found(fmt::format(
        "{}: {}no job of any name under {} (give --dir or set HEADWAY_DIR if the jobs lie "
        "elsewhere)",
        name, also, root));
  }
  // Near names first, then the most recent.
  std::stable_sort(jobs.begin(), jobs.end(), [&](const std::string& x, const std::string& y) {
    constexpr std::size_t kFar = SIZE_MAX;
    return base::nearness(name, x).value_or(kFar) < base::nearness(name, y).value_or(kFar);
  });
  return Status::not_found(
      fmt::format("{}: {}no such job under {}; there: {}", name, also, root, joined(jobs)));
}

Status no_such_input(const std::string& name, const std::string& root) {
  return no_such(name, "no such file, and ", root);
}

struct Found {
  std::vector<std::string> journals;
  std::vector<std::string> lines;
};

Result<Found> find_files(const std::string& path) {
  Found found;
  if (!is_folder(path)) {
    (is_journal(path) ? found.journals : found.lines).push_back(path);
    return found;
  }
  auto journals = base::list_files(path, base::kJournalSuffix, kFolderDepthMax, kFilesMax);
  if (!journals.ok()) return journals.status();
  auto lines = base::list_files(path, kLinesSuffix, kFolderDepthMax, kFilesMax);
  if (!lines.ok()) return lines.status();
  found.journals = std::move(*journals);
  found.lines = std::move(*lines);
  if (found.journals.empty() && found.lines.empty()) {
    return Status::not_found(fmt::format("{}: holds neither journals (*{}) nor event lines (*{})",
                                         path, base::kJournalSuffix, kLinesSuffix));
  }
  return found;
}

// The path behind the name, and the job it stands for where it was found under the root.
struct Place {
  std::string path;
  std::string job;
};

Result<Place> locate(const std::string& name, const LoadOptions& options) {
  if (name == "-") return Place{name, {}};
  if (name.empty()) return Status::invalid("no job, file or folder was named");
  std::string root = options.root;
  if (name.find('/') == std::string::npos && name != "." && name != "..") {
    if (auto found = base::jobs_root(root); found.ok()) root = std::move(*found);
    if (!root.empty() && base::is_job_name(name) && is_folder(base::job_dir(root, name))) {
      return Place{base::job_dir(root, name), name};
    }
  }
  if (exists(name)) return Place{name, {}};
  if (root.empty()) return Status::not_found(fmt::format("{}: no such file or folder", name));
  return no_such_input(name, root);
}

std::string default_job(const std::string& path) {
  if (path == "-") return "stdin";
  const fs::path p = fs::path(path).lexically_normal();
  const std::string stem = p.has_filename() ? p.stem().string() : p.parent_path().stem().string();
  return base::sanitize_job_name(stem);
}

using JobMap = std::map<std::string, event::JobStreams, std::less<>>;

void add_journals(std::vector<JournalFile>& journals, JobMap& jobs) {
  for (JournalFile& file : journals) {
    event::JobStreams& job = jobs[file.info.job];
    if (job.names == nullptr) {
      job.job = file.info.job;
      job.names = std::make_shared<event::NameTable>();
    }
    job.streams.push_back(journal_stream(file, job.names));
  }
}

Status keep_only(const std::string& wanted, const std::string& what, JobMap& jobs) {
  if (wanted.empty()) return {};
  auto node = jobs.extract(wanted);
  if (node.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, job] : jobs) names.push_back(name);
    return Status::not_found(
        fmt::format("{}: no job {} in it; there: {}", what, wanted, joined(names)));
  }
  jobs.clear();
  jobs.insert(std::move(node));
  return {};
}

Status read_lines(const std::vector<std::string>& files, const std::string& fallback,
                  const LoadOptions& options, JobMap& jobs, std::vector<std::string>& notes,
                  std::uint64_t& bad_lines) {
  if (files.empty()) return {};
  StreamBuilder builder;
  JsonlInput input({.skip_bad = options.skip_bad});
  for (const std::string& file : files) {
    if (Status status = input.read(file, builder); !status.ok()) return status;
  }
  std::vector<std::string> known;
  for (const auto& [name, job] : jobs) known.push_back(name);
  auto built = builder.finish(fallback, known);
  if (!built.ok()) return built.status();
  bad_lines = input.bad_lines();
  notes.insert(notes.end(), input.bad_notes().begin(), input.bad_notes().end());
  const std::vector<std::string> unknown = input.unknown_keys();
  if (!unknown.empty()) notes.push_back("keys without a meaning here: " + joined(unknown));
  for (event::JobStreams& from : *built) {
    from.unknown_keys = unknown.size();
    auto [to, fresh] = jobs.try_emplace(from.job);
    if (!fresh) {
      // Journals have been opened for their header only: they take over the lines' names.
      HW_CHECK(to->second.streams.empty());
    }
    to->second = std::move(from);
  }
  return {};
}

}  // namespace

std::vector<std::string> recent_jobs(const std::string& root) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (!it->is_directory(ignored) || !base::is_job_name(name)) continue;
    found.emplace_back(it->last_write_time(ignored), name);
  }
  std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
    return x.first != y.first ? x.first > y.first : x.second < y.second;
  });
  std::vector<std::string> names;
  for (auto& [time, name] : found) names.push_back(std::move(name));
  return names;
}

Status no_such_job(const std::string& name, const std::string& root) {
  return no_such(name, "", root);
}

Result<std::string> newest_job(const std::string& root, std::string_view otherwise) {
  std::vector<std::string> jobs = recent_jobs(root);
  if (!jobs.empty()) return std::move(jobs.front());
  return Status::not_found(fmt::format("no job under {} yet; {}", root, otherwise));
}

Result<std::vector<event::JobStreams>> load_jobs(std::string_view path_or_job,
                                                 const LoadOptions& options) {
  auto place = locate(std::string(path_or_job), options);
  if (!place.ok()) return place.status();
  auto files = place->path == "-" ? Result<Found>(Found{{}, {"-"}}) : find_files(place->path);
  if (!files.ok()) return files.status();

  std::vector<std::string> notes;
  auto journals = read_headers(files->journals, notes);
  JobMap jobs;
  for (const JournalFile& file : journals) jobs[file.info.job].job = file.info.job;
  const std::string fallback = !options.job.empty()  ? options.job
                               : !place->job.empty() ? place->job
                                                     : default_job(place->path);
  std::uint64_t bad_lines = 0;
  if (Status status = read_lines(files->lines, fallback, options, jobs, notes, bad_lines);
      !status.ok()) {
    return status;
  }
  add_journals(journals, jobs);
  // A job's own folder may hold lines that name another: then only its own are meant.
  const bool own = options.job.empty() && jobs.size() > 1 && jobs.contains(place->job);
  if (Status status = keep_only(own ? place->job : options.job, place->path, jobs); !status.ok()) {
    return status;
  }
  std::vector<event::JobStreams> out;
  for (auto& [name, job] : jobs) {
    if (job.names == nullptr) job.names = std::make_shared<event::NameTable>();
    job.bad_lines = bad_lines;
    job.notes = notes;
    out.push_back(std::move(job));
  }
  if (out.empty()) {
    if (notes.empty()) return Status::not_found(place->path + ": there are no events");
    // A note on a file names it, and with it the place.
    const bool named = notes.front().starts_with(place->path);
    return Status::not_found(named ? notes.front() : place->path + ": " + notes.front());
  }
  return out;
}

Result<event::JobStreams> load_job(std::string_view path_or_job, const LoadOptions& options) {
  auto jobs = load_jobs(path_or_job, options);
  if (!jobs.ok()) return jobs.status();
  if (jobs->size() > 1) {
    std::vector<std::string> names;
    for (const auto& job : *jobs) names.push_back(job.job);
    return Status::invalid(fmt::format("{}: holds {} jobs, pick one with --job: {}", path_or_job,
                                       names.size(), joined(names)));
  }
  return std::move(jobs->front());
}

}  // namespace headway::interchange
