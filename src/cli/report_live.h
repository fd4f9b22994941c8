// Whether a job is being run at this moment: its agent holds a flock on a file in the job's folder
// for as long as it lives (agent/job_folder.h). Reads the file system; one thread.
//
// Looking must not disturb: a lock that we tried for would, for that instant, keep an agent from
// starting. So the kernel's table of locks is read first, and only a job of another machine, whose
// locks that table does not show, is tried.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "event/stream.h"

namespace headway::cli {

// `folder` is the job's own.
[[nodiscard]] bool job_is_alive(const std::string& folder);

// The folder of `job` behind an input that a person named: the folder itself, one above it (an
// attempt's folder or a journal was named) or one below it (all jobs were). Empty when none of them
// has ever had an agent, and for a file of JSON lines: nobody is writing it, as far as one can
// tell.
[[nodiscard]] std::string folder_of_job(const std::string& path, const std::string& job);

// Where to look for it: the folder of a job that was named, else the input itself. `dir` is that of
// all jobs; empty: from the environment.
[[nodiscard]] std::string place_of(const std::string& input, const std::string& dir);

// True when the streams reach the newest attempt in the folder: the one a living agent works on.
[[nodiscard]] bool has_newest_attempt(const event::JobStreams& streams, const std::string& folder);

// `folder` of the job that the streams are of: now, if it runs. Empty: nobody can tell, so it does
// not.
[[nodiscard]] std::optional<std::int64_t> now_if_running(const event::JobStreams& streams,
                                                         const std::string& folder);

// Does a line of /proc/locks show a flock on this inode, by this process or on this device?
[[nodiscard]] bool shows_flock(std::string_view line, std::uint64_t inode, std::uint64_t device,
                               std::int64_t pid);

}  // namespace headway::cli
