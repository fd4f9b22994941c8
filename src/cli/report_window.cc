#include "cli/report_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

namespace headway::cli {
namespace {

using base::Result;
using base::Status;
using timeline::kTimeMax;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr const char* kForms =
    "want A..B with seconds or 90s, 10m, 1h30m, 2d from the job's begin (-1h: from its end), "
    "2026-11-15T21:40:00Z, or Unix nanoseconds as 123ns; either end may be left out";

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes "12" or "12.5" off the front, in units of `unit_ns`; nullopt when there is no number.
std::optional<double> take_number(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && (digit(text[n]) || text[n] == '.')) ++n;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + n, value);
  if (n == 0 || error != std::errc() || stop != text.data() + n) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

double unit_seconds(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "m") return 60;
  if (unit == "h") return 3'600;
  if (unit == "d") return 86'400;
  return 0;
}

// "90", "90s", "1h30m", "0.5h".
std::optional<std::int64_t> parse_duration(std::string_view text) {
  double seconds = 0;
  bool any = false;
  while (!text.empty()) {
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    std::size_t n = 0;
    while (n < text.size() && text[n] >= 'a' && text[n] <= 'z') ++n;
    const double unit = unit_seconds(text.substr(0, n));
    if (unit == 0 || (any && n == 0)) return std::nullopt;
    text.remove_prefix(n);
    seconds += *number * unit;
    any = true;
  }
  if (!any || seconds > static_cast<double>(kTimeMax) / 1e9) return std::nullopt;
  return std::llround(seconds * 1e9);
}

// `digits` decimal digits off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// ".25" off the front, in ns; 0 when there is none. Digits beyond the ninth are dropped.
std::int64_t take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t ns = 0;
  std::int64_t unit = kSecondNs / 10;
  while (!text.empty() && digit(text.front())) {
    ns += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return ns;
}

// "Z", "", "+02:00" or "-0530": seconds to subtract.
std::optional<std::int64_t> take_zone(std::string_view& text) {
  if (text.empty() || take(text, 'Z')) return 0;
  const bool east = text.front() == '+';
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  take(text, ':');
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  const std::int64_t seconds = *hours * 3'600 + *minutes * 60;
  return east ? seconds : -seconds;
}

// "2026-11-15", "2026-11-15T21:40", "2026-11-15T21:40:00.5Z", "2026-11-15T21:40:00+02:00".
std::optional<std::int64_t> parse_iso(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1824 || *year > 2115) return std::nullopt;
  std::int64_t ns = 0;
  if (take(text, 'T')) {
    const auto hour = take_digits(text, 2);
    if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
    const auto minute = take_digits(text, 2);
    if (!minute || *minute > 59) return std::nullopt;
    ns = (*hour * 3'600ll + *minute * 60) * kSecondNs;
    if (take(text, ':')) {
      const auto second = take_digits(text, 2);
      if (!second || *second > 59) return std::nullopt;
      ns += *second * kSecondNs + take_fraction(text);
    }
    const auto zone = take_zone(text);
    if (!zone) return std::nullopt;
    ns -= *zone * kSecondNs;
  }
  if (!text.empty()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count() * 86'400 * kSecondNs + ns;
}

std::optional<std::int64_t> parse_unix_ns(std::string_view text) {
  std::int64_t ns = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), ns);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return ns >= -kTimeMax && ns <= kTimeMax ? std::optional(ns) : std::nullopt;
}

Result<WindowEnd> parse_end(std::string_view text) {
  using From = WindowEnd::From;
  if (text.empty()) return WindowEnd{};
  if (text.ends_with("ns")) {
    if (const auto ns = parse_unix_ns(text.substr(0, text.size() - 2))) {
      return WindowEnd{From::epoch, *ns};
    }
  } else if (text.size() >= 10 && text[4] == '-') {
    if (const auto ns = parse_iso(text)) return WindowEnd{From::epoch, *ns};
  } else if (text.front() == '-') {
    if (const auto ns = parse_duration(text.substr(1))) return WindowEnd{From::end, -*ns};
  } else if (const auto ns = parse_duration(text)) {
    return WindowEnd{From::begin, *ns};
  }
  return Status::invalid(fmt::format("--window: cannot read \"{}\"; {}", text, kForms));
}

std::int64_t place(const WindowEnd& end, std::int64_t open_ns, const timeline::JobResult& job) {
  switch (end.from) {
    case WindowEnd::From::open:
      return open_ns;
    case WindowEnd::From::begin:
      return job.ledger.begin_ns() + end.ns;
    case WindowEnd::From::end:
      return job.ledger.end_ns() + end.ns;
    case WindowEnd::From::epoch:
      return end.ns;
  }
  return open_ns;
}

}  // namespace

Result<WindowText> parse_window(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return Status::invalid(fmt::format("--window: \"{}\" has no \"..\"; {}", text, kForms));
  }
  auto a = parse_end(text.substr(0, dots));
  if (!a.ok()) return a.status();
  auto b = parse_end(text.substr(dots + 2));
  if (!b.ok()) return b.status();
  return WindowText{*a, *b};
}

Result<metrics::Window> resolve_window(const WindowText& window, const timeline::JobResult& job) {
  std::int64_t first = job.ledger.begin_ns();
  std::int64_t last = job.ledger.end_ns();
  for (const timeline::Outside& outside : job.outside) {
    first = std::min(first, outside.t0_ns);
    last = std::max(last, outside.t1_ns);
  }
  const metrics::Window out{place(window.a, first, job), place(window.b, last + 1, job)};
  if (out.from_ns >= out.to_ns) {
    return Status::invalid(fmt::format(
        "--window: its begin is not before its end (the job lasted {:.3f} s); {}",
        static_cast<double>(job.ledger.end_ns() - job.ledger.begin_ns()) / 1e9, kForms));
  }
  return out;
}

}  // namespace headway::cli
