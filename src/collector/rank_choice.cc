#include "collector/rank_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

namespace headway::collector {

using base::Result;
using base::Status;

namespace {

bool take_number(std::string_view& text, std::uint32_t& number) {
  constexpr std::size_t digits_max = 9;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  if (static_cast<std::size_t>(end - text.data()) > digits_max) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

struct Weight {
  std::int64_t failed_ns = INT64_MIN;  // the last time
  std::int64_t held_up_ns = 0;
};

}  // namespace

Result<std::vector<std::uint32_t>> parse_ranks(std::string_view text, std::size_t max) {
  const std::string_view whole = text;
  const auto wrong = [&] {
    return Status::invalid(
        fmt::format("ranks={}: give at most {} of them, as in 0-31,200", whole, max));
  };
  std::vector<std::uint32_t> out;
  std::set<std::uint32_t> known;
  constexpr std::size_t bytes_max = 800;
  if (text.empty() || text.size() > bytes_max) return wrong();
  while (!text.empty()) {
    std::uint32_t first = 0, last = 0;
    if (!take_number(text, first)) return wrong();
    last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(text, last) || last < first) return wrong();
    }
    if (std::size_t{last} - first >= max) return wrong();
    for (std::uint64_t rank = first; rank <= last; ++rank) {
      if (known.insert(static_cast<std::uint32_t>(rank)).second) {
        out.push_back(static_cast<std::uint32_t>(rank));
      }
    }
    if (out.size() > max) return wrong();
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return wrong();
    text.remove_prefix(1);
  }
  return out;
}

ChosenRanks choose_ranks(const timeline::JobResult& job, const std::vector<std::uint32_t>& asked,
                         std::size_t max) {
  std::map<std::uint32_t, Weight> known;
  for (const timeline::AttemptResult& attempt : job.attempts) {
    for (const timeline::RankShare& share : attempt.ranks) {
      known[share.rank].held_up_ns += share.held_up_ns;
    }
    if (!attempt.failure) continue;
    const auto failed = known.find(attempt.failure->info.rank);
    if (failed != known.end()) failed->second.failed_ns = attempt.failure->t_ns;
  }
  ChosenRanks out;
  out.of = known.size();
  if (!asked.empty()) {
    std::ranges::copy_if(asked, std::back_inserter(out.ranks),
                         [&](std::uint32_t rank) { return known.contains(rank); });
    return out;
  }
  for (const auto& [rank, weight] : known) out.ranks.push_back(rank);
  if (out.ranks.size() <= max) return out;
  std::ranges::stable_sort(out.ranks, [&](std::uint32_t x, std::uint32_t y) {
    const Weight &a = known.at(x), &b = known.at(y);
    return std::tie(a.failed_ns, a.held_up_ns) > std::tie(b.failed_ns, b.held_up_ns);
  });
  out.ranks.resize(max);
  return out;
}

}  // namespace headway::collector
