#include "metrics/cache_misses.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace headway::metrics {
namespace {

// `ranks` in order.
std::string ranges_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (ranges++ == MissedRanks::ranges_max) return text + ",…";
    if (i > 0) text += ',';
    text +=
        end - i == 1 ? fmt::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace

void MissedRanks::add(std::uint32_t rank, std::uint64_t misses, std::uint64_t hits) {
  if (misses > 0) ranks_[{misses, hits}].push_back(rank);
}

std::vector<MissedRow> MissedRanks::rows(std::int64_t attempt) const {
  std::vector<MissedRow> out;
  for (const auto& [counts, told] : std::views::reverse(ranks_)) {
    std::vector<std::uint32_t> ranks = told;
    std::ranges::sort(ranks);
    ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
    out.push_back({attempt, counts.first, counts.second, ranks.size(), ranges_text(ranks)});
  }
  return out;
}

}  // namespace headway::metrics
