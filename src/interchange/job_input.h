// From what a person names to the streams of a job. The one way in which every verb finds its
// input:
//   a job's name        looked up under the jobs root (base/job_path.h)
//   a folder            journals (*.hwj) and event lines (*.jsonl) anywhere below it
//   a journal, a file of JSON lines, or "-" for JSON lines on standard input
// A name without '/' is first a job, then a path; "./NAME" is always a path. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "event/stream.h"

namespace headway::interchange {

inline constexpr int kFolderDepthMax = 8;
inline constexpr std::size_t kFilesMax = 1 << 18;
inline constexpr std::size_t kJobsListedMax = 8;  // names in a message

struct LoadOptions {
  std::string root;  // of all jobs; empty: base::jobs_root()
  std::string job;   // only this one, where the input holds several
  bool skip_bad = false;
};

// All jobs of the input (only options.job when it is set), sorted by name; never empty. The files
// of JSON lines are read here; journals are opened only as far as their header.
base::Result<std::vector<event::JobStreams>> load_jobs(std::string_view path_or_job,
                                                       const LoadOptions& options);

// The same where one job is wanted: several are an error that lists them.
base::Result<event::JobStreams> load_job(std::string_view path_or_job, const LoadOptions& options);

// Names of the jobs under `root`, the most recently changed first.
std::vector<std::string> recent_jobs(const std::string& root);
// The error for a name that none of them has: it lists those that there are, near names first.
base::Status no_such_job(const std::string& name, const std::string& root);
// The first of them; an error where there is none, with what to do `otherwise`.
base::Result<std::string> newest_job(const std::string& root, std::string_view otherwise);

}  // namespace headway::interchange
