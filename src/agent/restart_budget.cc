#include "agent/restart_budget.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "base/duration.h"

namespace headway::agent {

base::Result<RestartBudget> parse_budget(const std::string& text) {
  RestartBudget budget;
  const std::size_t slash = text.find('/');
  const std::string number = text.substr(0, slash);
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, budget.count);
  bool ok =
      error == std::errc() && stop == end && budget.count >= 0 && budget.count <= kRestartsMax;
  if (ok && slash != std::string::npos) {
    // With its unit only: in 3/1 nobody can see what the 1 is.
    const bool has_unit = std::isalpha(static_cast<unsigned char>(text.back())) != 0;
    budget.window_ns = base::parse_duration(std::string_view(text).substr(slash + 1)).value_or(0);
    ok = has_unit && budget.window_ns > 0;
  }
  if (ok) return budget;
  return base::Status::invalid(fmt::format(
      "--max-restarts {}: give a number from 0 to {}, or so many within a time: 3/1h (s, m, h, d)",
      text, kRestartsMax));
}

}  // namespace headway::agent
