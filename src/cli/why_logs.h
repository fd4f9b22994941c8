// Reads logs of training jobs as evidence: whose line is whose. Files only; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "failure/evidence.h"

namespace headway::cli {

inline constexpr std::size_t log_bytes_max = 64 << 20;  // of each file, from its end

// "rank-3.log" and "rank_3.txt" are rank 3's; otherwise nobody's in particular: kNoRank.
[[nodiscard]] int rank_of_file(const std::string& path);

// The line's rank, where it begins with one: "[3] …" (headway run), "[rank3]: …" (torch),
// "3: …" (srun -l). The mark is cut off. Otherwise `rank`.
[[nodiscard]] failure::OutputLine attribute_line(std::string line, int rank);

// Appends the file's lines.
base::Status read_log(const std::string& path, int rank, std::vector<failure::OutputLine>& lines);

}  // namespace headway::cli
