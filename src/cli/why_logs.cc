#include "cli/why_logs.h"

#include <fcntl.h>
#include <re2/re2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/job_path.h"

namespace headway::cli {
namespace {

using base::Result;

// Ranks that have a log in the folder, ascending.
std::vector<int> ranks_with_logs(const std::string& folder) {
  constexpr std::size_t ranks_max = 100'000;
  std::vector<int> ranks;
  const auto paths = base::list_files(folder, ".log", 0, ranks_max);
  if (!paths.ok()) return ranks;
  for (const std::string& path : paths.value()) {
    const int rank = rank_of_file(path);
    if (rank != failure::kNoRank) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

int rank_of_file(const std::string& path) {
  static const re2::RE2 kRank(R"((?:^|[^a-z])rank[-_]?(\d{1,7})(?:\D|$))");
  int rank = failure::kNoRank;
  re2::RE2::PartialMatch(std::filesystem::path(path).filename().string(), kRank, &rank);
  return rank;
}

Result<std::string> read_end(const std::string& path, std::size_t bytes_max) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return base::errno_status(path, "cannot open", errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return base::errno_status(path, "cannot read", errno);
  if (!S_ISREG(info.st_mode)) return base::read_file(path, bytes_max);  // a pipe has no end to seek
  const auto size = static_cast<std::size_t>(std::max<off_t>(0, info.st_size));
  const std::size_t skipped = size - std::min(size, bytes_max);
  std::string text(size - skipped, '\0');
  const long got = base::pread_full(file.get(), text.data(), text.size(), skipped);
  if (got < 0) return base::errno_status(path, "cannot read", errno);
  text.resize(static_cast<std::size_t>(got));
  if (skipped > 0) text.erase(0, text.find('\n') + 1);  // npos + 1: a single line stays
  return text;
}

std::vector<failure::Log> read_rank_logs(const std::string& attempt_folder, int first_rank) {
  std::vector<int> ranks = ranks_with_logs(attempt_folder);
  std::stable_partition(ranks.begin(), ranks.end(), [&](int rank) { return rank == first_rank; });
  std::vector<failure::Log> logs;
  if (ranks.empty()) return logs;
  const std::size_t share = std::min(rank_log_bytes_max, job_logs_bytes_max / ranks.size());
  for (const int rank : ranks) {
    const std::string path = base::rank_log_path(attempt_folder, static_cast<std::uint32_t>(rank));
    auto newest = read_end(path, share);
    if (!newest.ok()) continue;
    // The launcher begins a new file now and then and keeps the one before.
    auto before = read_end(path + ".1", share - newest->size());
    std::string text = before.ok() ? std::move(*before) + *newest : std::move(*newest);
    if (!text.empty()) logs.push_back({rank, std::move(text), false});
  }
  return logs;
}

failure::TailLines tail_of(const failure::Evidence& evidence, int rank) {
  failure::Tail tail(tail_lines_max);
  const bool whole = rank == failure::kNoRank && evidence.logs.size() == 1;
  for (const failure::Log& log : evidence.logs) {
    failure::each_line(log.text, log.rank, log.mixed, [&](const failure::LineView& line) {
      if (!whole && (rank == failure::kNoRank || line.rank != rank)) return;
      tail.feed(line.text);
      tail.feed("\n");
    });
  }
  return tail.lines();
}

}  // namespace headway::cli
