#include "cli/size_option.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace headway::cli {

base::Result<std::uint64_t> parse_size_option(const std::string& option, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with("iB")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with('B')) {
    unit.remove_suffix(1);
  }
  constexpr std::string_view units = "KMGT";
  const std::size_t power = unit.empty() ? 0 : units.find(unit[0]) + 1;
  const bool known = unit.empty() || (unit.size() == 1 && power >= 1 && power <= units.size());
  if (error == std::errc() && known && number >= 0 && number < 1e15) {
    return static_cast<std::uint64_t>(number * static_cast<double>(1ULL << (10 * power)));
  }
  return base::Status::invalid(fmt::format("{} {}: write it like 500M, 20G or 1T", option, text));
}

}  // namespace headway::cli
