#include "fleet/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace headway::fleet {

std::string day_text(std::int32_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::optional<std::int32_t> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t length) -> int {
    unsigned value = 0;
    const char* end = text.data() + at + length;
    const auto [stopped, error] = std::from_chars(text.data() + at, end, value);
    return error == std::errc() && stopped == end ? static_cast<int>(value) : -1;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return static_cast<std::int32_t>(std::chrono::sys_days{date}.time_since_epoch().count());
}

Filter::Filter(const Snapshot& snapshot, const Selection& selection)
    : from_day_(selection.from_day), to_day_(std::max(selection.from_day, selection.to_day)) {
  for (const Where& where : selection.where) {
    const auto dimension = static_cast<std::size_t>(where.dimension);
    auto found = std::ranges::find(allowed_, dimension, &Allowed::dimension);
    const DictionaryView& values = snapshot.values(where.dimension);
    if (found == allowed_.end()) {
      allowed_.push_back({dimension, std::vector<std::uint8_t>(values.size(), 0)});
      found = allowed_.end() - 1;
    }
    if (const auto id = values.find(where.value)) found->ids[*id] = 1;
  }
}

}  // namespace headway::fleet
