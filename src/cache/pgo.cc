#include "cache/pgo.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace headway::cache {
namespace {

constexpr std::string_view kBegin = "dynamo/code_state_";
constexpr std::string_view kEnd = ".pkl";
constexpr std::string_view kNoRank = "None";

bool is_rank(std::string_view text) {
  if (text == kNoRank) return true;
  return !text.empty() && text.size() <= 7 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// No group before all ranks: what one process learned alone is as good as rank 0's.
std::int64_t order_of(const std::string& rank) {
  std::int64_t number = -1;
  std::from_chars(rank.data(), rank.data() + rank.size(), number);
  return number;
}

std::vector<std::string> ranks_of(const PgoRule& rule,
                                  const std::map<std::int64_t, std::size_t>& old) {
  std::vector<std::string> ranks;
  if (!rule.ranks) {
    for (const auto& [rank, index] : old) {
      ranks.push_back(rank < 0 ? std::string(kNoRank) : std::to_string(rank));
    }
  } else if (*rule.ranks == 0) {
    ranks.emplace_back(kNoRank);
  } else {
    for (std::uint32_t rank = 0; rank < *rule.ranks; ++rank) ranks.push_back(std::to_string(rank));
  }
  return ranks;
}

}  // namespace

std::string pgo_name(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (std::string_view("<>:\"/\\|?*").find(c) != std::string_view::npos) c = '_';
  }
  return name;
}

std::string pgo_path(const PgoState& state) {
  return fmt::format("{}{}_{}_{}{}", kBegin, pgo_name(state.job), state.rank, pgo_name(state.tag),
                     kEnd);
}

std::optional<PgoState> parse_pgo_path(std::string_view path, std::string_view job) {
  if (!path.starts_with(kBegin) || !path.ends_with(kEnd) ||
      path.size() < kBegin.size() + kEnd.size()) {
    return std::nullopt;
  }
  const std::string_view text =
      path.substr(kBegin.size(), path.size() - kBegin.size() - kEnd.size());
  if (!job.empty()) {
    const std::string begin = pgo_name(job) + "_";
    if (!text.starts_with(begin)) return std::nullopt;
    const std::string_view rest = text.substr(begin.size());
    const std::size_t end = rest.find('_');
    if (end == std::string_view::npos || !is_rank(rest.substr(0, end))) return std::nullopt;
    return PgoState{pgo_name(job), std::string(rest.substr(0, end)),
                    std::string(rest.substr(end + 1))};
  }
  for (std::size_t end = text.rfind('_'); end != std::string_view::npos && end > 0;
       end = text.rfind('_', end - 1)) {
    const std::size_t begin = text.rfind('_', end - 1);
    if (begin == std::string_view::npos) break;
    const std::string_view rank = text.substr(begin + 1, end - begin - 1);
    if (!is_rank(rank)) continue;
    return PgoState{std::string(text.substr(0, begin)), std::string(rank),
                    std::string(text.substr(end + 1))};
  }
  return std::nullopt;
}

base::Result<PgoRule> parse_pgo_rule(const std::string& text) {
  const std::size_t equals = text.find('=');
  PgoRule rule;
  rule.from = equals == std::string::npos ? "*" : text.substr(0, equals);
  rule.to = equals == std::string::npos ? text : text.substr(equals + 1);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (!rule.from.empty() && !rule.to.empty() && rule.to.size() <= 200 &&
      std::ranges::none_of(text, is_control)) {
    return rule;
  }
  return base::Status::invalid(
      fmt::format("--pgo-job {}: write it as OLD=NEW, two names of jobs", text));
}

std::vector<PgoCopy> plan_pgo(const std::vector<std::string>& paths, const PgoRule& rule) {
  const std::set<std::string_view> there(paths.begin(), paths.end());
  // By tag: which rank's state is where.
  std::map<std::string, std::map<std::int64_t, std::size_t>> old;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto state = parse_pgo_path(paths[i], rule.from == "*" ? "" : rule.from);
    if (state) old[state->tag].emplace(order_of(state->rank), i);
  }
  std::vector<PgoCopy> copies;
  for (const auto& [tag, states] : old) {
    for (const std::string& rank : ranks_of(rule, states)) {
      std::string path = pgo_path({rule.to, rank, tag});
      if (there.contains(path)) continue;
      const auto own = states.find(order_of(rank));
      copies.push_back(
          {own != states.end() ? own->second : states.begin()->second, std::move(path)});
    }
  }
  return copies;
}

}  // namespace headway::cache
