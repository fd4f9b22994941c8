#include "agent/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headway::agent {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

struct Unit {
  char letter;
  std::int64_t seconds;
};
constexpr Unit kUnits[] = {{'d', 24 * 3600}, {'h', 3600}, {'m', 60}, {'s', 1}};

}  // namespace

std::optional<std::int64_t> parse_duration(std::string_view text) {
  std::int64_t unit_s = 1;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.letter)) continue;
    unit_s = unit.seconds;
    text.remove_suffix(1);
    break;
  }
  double count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || !std::isfinite(count) || count < 0) {
    return std::nullopt;
  }
  const double ns = count * static_cast<double>(unit_s * kSecondNs);
  return static_cast<std::int64_t>(std::min(ns, static_cast<double>(duration_max_ns)));
}

std::string format_duration(std::int64_t ns) {
  for (const Unit& unit : kUnits) {
    const std::int64_t unit_ns = unit.seconds * kSecondNs;
    if (ns >= unit_ns && ns % unit_ns == 0) return fmt::format("{}{}", ns / unit_ns, unit.letter);
  }
  return fmt::format("{}s", static_cast<double>(ns) / static_cast<double>(kSecondNs));
}

base::Result<std::int64_t> parse_time_option(std::string_view option, const std::string& text,
                                             std::int64_t min_s, std::int64_t max_s) {
  const auto ns = parse_duration(text);
  if (ns && *ns >= min_s * kSecondNs && *ns <= max_s * kSecondNs) return *ns;
  return base::Status::invalid(fmt::format("{} {}: want seconds from {} to {}, or a time: 90s, 2m",
                                           option, text, min_s, max_s));
}

}  // namespace headway::agent
