#include "cli/human.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "base/check.h"
#include "base/wide.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kDateFloorNs = 10ll * 366 * 86'400 * kSecondNs;  // no job ran before 1980

// ns / unit with `decimals` digits behind the point, rounded half up.
std::string decimal(std::int64_t ns, std::int64_t unit, int decimals) {
  std::int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const auto scaled =
      static_cast<std::int64_t>((base::Int128{ns} * scale * 2 + unit) / (2 * base::Int128{unit}));
  if (decimals == 0) return fmt::format("{}", scaled);
  return fmt::format("{}.{:0{}}", scaled / scale, scaled % scale, decimals);
}

struct Calendar {
  std::string day;   // "2026-11-15"
  std::string time;  // "21:40:00"
};

Calendar calendar(std::int64_t t_ns) {
  using namespace std::chrono;
  const sys_seconds t{floor<seconds>(nanoseconds{t_ns})};
  const sys_days days = floor<std::chrono::days>(t);
  const year_month_day date{days};
  const hh_mm_ss clock{t - days};
  return {fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())),
          fmt::format("{:02}:{:02}:{:02}", clock.hours().count(), clock.minutes().count(),
                      clock.seconds().count())};
}

std::string seconds_text(std::int64_t t_ns) {
  const std::string sign = t_ns < 0 ? "-" : "";
  std::string text = decimal(t_ns < 0 ? -t_ns : t_ns, kSecondNs, 3);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return sign + text;
}

}  // namespace

std::string human_duration(std::int64_t ns, const Style& style) {
  if (ns < 0) return "-" + human_duration(-ns, style);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  // The limits are where rounding would show the next unit.
  if (ns < 999'950) return decimal(ns, 1'000, 1) + (style.unicode ? " µs" : " us");
  if (ns < 99'995'000) return decimal(ns, 1'000'000, 2) + " ms";
  if (ns < 9'999'500'000) return decimal(ns, kSecondNs, 3) + " s";
  if (ns < 59'995'000'000) return decimal(ns, kSecondNs, 2) + " s";
  const std::int64_t s = (ns + kSecondNs / 2) / kSecondNs;
  if (s < 3'600) return fmt::format("{}m {:02}s", s / 60, s % 60);
  const std::int64_t m = (ns / kSecondNs + 30) / 60;
  if (m < 48 * 60) return fmt::format("{}h {:02}m", m / 60, m % 60);
  const std::int64_t h = (ns / kSecondNs + 1'800) / 3'600;
  return fmt::format("{}d {:02}h", h / 24, h % 24);
}

bool is_date(std::int64_t t_ns) {
  return t_ns >= kDateFloorNs;
}

std::string human_instant(std::int64_t t_ns, const Style&) {
  if (!is_date(t_ns)) return fmt::format("t = {} s", seconds_text(t_ns));
  const Calendar at = calendar(t_ns);
  return fmt::format("{} {} UTC", at.day, at.time);
}

std::string human_interval(std::int64_t from_ns, std::int64_t to_ns, const Style& style) {
  const std::string_view dash = style.unicode ? "–" : "-";
  if (!is_date(from_ns)) {
    return fmt::format("t = {} {} {} s", seconds_text(from_ns), dash, seconds_text(to_ns));
  }
  const Calendar from = calendar(from_ns);
  const Calendar to = calendar(to_ns);
  const std::string day = from.day == to.day ? "" : to.day + " ";
  return fmt::format("{} {} {} {}{} UTC", from.day, from.time, dash, day, to.time);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // The limit is where rounding would show the next unit.
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_count(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ' ');
  return text;
}

std::string plural(std::uint64_t n, std::string_view one, std::string_view many) {
  if (n == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", human_count(n), one)
                      : fmt::format("{} {}", human_count(n), many);
}

std::vector<std::int64_t> share_out(const std::vector<std::int64_t>& parts, std::int64_t total) {
  std::vector<std::int64_t> out(parts.size(), 0);
  base::Int128 sum = 0;
  for (const std::int64_t part : parts) {
    HW_CHECK(part >= 0);
    sum += part;
  }
  if (sum == 0) return out;
  std::vector<base::Int128> rest(parts.size());
  std::int64_t given = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const base::Int128 exact = base::Int128{parts[i]} * total;
    out[i] = static_cast<std::int64_t>(exact / sum);
    rest[i] = exact % sum;
    given += out[i];
  }
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  for (std::size_t k = 0; given < total; ++k, ++given) {
    HW_CHECK(k < order.size());
    ++out[order[k]];
  }
  return out;
}

std::int64_t share_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return 0;
  const base::Int128 twice = 2 * base::Int128{part} * kWholeShare + whole;
  return static_cast<std::int64_t>(twice / (2 * base::Int128{whole}));
}

std::string human_share(std::int64_t hundredths) {
  return fmt::format("{}.{:02}%", hundredths / 100, hundredths % 100);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace headway::cli
