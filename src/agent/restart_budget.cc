#include "agent/restart_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace headway::agent {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kWindowMaxS = 366LL * 24 * 3600;

// "90s", "30m", "1h", "7d" in seconds; 0: none of these.
std::int64_t parse_seconds(std::string_view text) {
  if (text.size() < 2) return 0;
  std::int64_t unit_s = 0;
  switch (text.back()) {
    case 's':
      unit_s = 1;
      break;
    case 'm':
      unit_s = 60;
      break;
    case 'h':
      unit_s = 3600;
      break;
    case 'd':
      unit_s = 24 * 3600;
      break;
    default:
      return 0;
  }
  std::int64_t count = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || count <= 0 || count > kWindowMaxS) return 0;
  return std::min(count * unit_s, kWindowMaxS);
}

}  // namespace

base::Result<RestartBudget> parse_budget(const std::string& text) {
  RestartBudget budget;
  const std::size_t slash = text.find('/');
  const std::string number = text.substr(0, slash);
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, budget.count);
  bool ok =
      error == std::errc() && stop == end && budget.count >= 0 && budget.count <= kRestartsMax;
  if (ok && slash != std::string::npos) {
    budget.window_ns = parse_seconds(std::string_view(text).substr(slash + 1)) * kSecondNs;
    ok = budget.window_ns > 0;
  }
  if (ok) return budget;
  return base::Status::invalid(fmt::format(
      "--max-restarts {}: give a number from 0 to {}, or so many within a time: 3/1h (s, m, h, d)",
      text, kRestartsMax));
}

}  // namespace headway::agent
