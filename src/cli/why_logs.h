// Reads logs of training jobs as evidence. Files only; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "failure/evidence.h"
#include "failure/tail.h"

namespace headway::cli {

inline constexpr std::size_t log_bytes_max = 64 << 20;        // of each file, from its end
inline constexpr std::size_t rank_log_bytes_max = 8 << 20;    // of each rank of a job
inline constexpr std::size_t job_logs_bytes_max = 512 << 20;  // of all its ranks

// "rank-3.log" and "rank_3.txt" are rank 3's; otherwise nobody's in particular: kNoRank.
[[nodiscard]] int rank_of_file(const std::string& path);

// The file's last bytes_max bytes, from the beginning of a line on.
base::Result<std::string> read_end(const std::string& path, std::size_t bytes_max);

// What the ranks of an attempt wrote, as far as `headway run` kept it: first_rank's log first,
// since between files there is no other order, then by rank.
[[nodiscard]] std::vector<failure::Log> read_rank_logs(const std::string& attempt_folder,
                                                       int first_rank);

// The last lines that the rank wrote, redacted. kNoRank: of the only log, if there is but one.
inline constexpr std::size_t tail_lines_max = 12;
[[nodiscard]] failure::TailLines tail_of(const failure::Evidence& evidence, int rank);

}  // namespace headway::cli
