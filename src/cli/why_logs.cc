#include "cli/why_logs.h"

#include <re2/re2.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "failure/rules.h"

namespace headway::cli {

int rank_of_file(const std::string& path) {
  static const re2::RE2 kRank(R"((?:^|[^a-z])rank[-_]?(\d{1,7})(?:\D|$))");
  int rank = failure::kNoRank;
  re2::RE2::PartialMatch(std::filesystem::path(path).filename().string(), kRank, &rank);
  return rank;
}

failure::OutputLine attribute_line(std::string line, int rank) {
  static const re2::RE2 kMark(R"(^(?:\[(\d{1,7})\] |\[rank(\d{1,7})\]:|\s{0,4}(\d{1,7}): ))",
                              failure::pattern_options());
  re2::StringPiece rest(line);
  std::string ours, torch, srun;
  if (!re2::RE2::Consume(&rest, kMark, &ours, &torch, &srun)) return {rank, std::move(line)};
  const std::string& found = !ours.empty() ? ours : !torch.empty() ? torch : srun;
  return {std::stoi(found), std::string(rest.data(), rest.size())};
}

base::Status read_log(const std::string& path, int rank, std::vector<failure::OutputLine>& lines) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return base::Status::not_found(path + ": " + std::strerror(errno));
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, in.tellg()));
  in.seekg(static_cast<std::streamoff>(size - std::min(size, log_bytes_max)));
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(attribute_line(std::move(line), rank));
  }
  if (in.bad()) return base::Status::io(path + ": cannot be read");
  return {};
}

}  // namespace headway::cli
