#include "base/duration.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headway::base {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
// "ms" stands before the units that its letters are.
constexpr Unit kUnits[] = {{"ms", kSecondNs / 1000},
                           {"d", 24 * 3600 * kSecondNs},
                           {"h", 3600 * kSecondNs},
                           {"m", 60 * kSecondNs},
                           {"s", kSecondNs}};

std::string shortest(double value) {
  char text[32];
  const auto done = std::to_chars(std::begin(text), std::end(text), value);
  return {text, done.ptr};
}

}  // namespace

std::optional<std::int64_t> parse_duration(std::string_view text) {
  std::int64_t unit_ns = kSecondNs;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    unit_ns = unit.ns;
    text.remove_suffix(unit.name.size());
    break;
  }
  double count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end || !std::isfinite(count) || count < 0) {
    return std::nullopt;
  }
  const double ns = count * static_cast<double>(unit_ns);
  return static_cast<std::int64_t>(std::min(ns, static_cast<double>(duration_max_ns)));
}

std::string format_duration(std::int64_t ns) {
  for (const Unit& unit : kUnits) {
    if (unit.ns < kSecondNs || ns < unit.ns || ns % unit.ns != 0) continue;
    return std::to_string(ns / unit.ns).append(unit.name);
  }
  return shortest(static_cast<double>(ns) / static_cast<double>(kSecondNs)) + "s";
}

Result<std::int64_t> parse_time_option(std::string_view option, const std::string& text,
                                       std::int64_t min_s, std::int64_t max_s) {
  const auto ns = parse_duration(text);
  if (ns && *ns >= min_s * kSecondNs && *ns <= max_s * kSecondNs) return *ns;
  return Status::invalid(std::string(option) + " " + text + ": want seconds from " +
                         std::to_string(min_s) + " to " + std::to_string(max_s) +
                         ", or a time: 90s, 2m");
}

}  // namespace headway::base
