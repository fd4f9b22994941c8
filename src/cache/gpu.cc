#include "cache/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace headway::cache {
namespace {

// The lines of a text, without blanks at their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

bool is_digits(std::string_view text) {
  constexpr std::size_t digits_max = 3;
  return !text.empty() && text.size() <= digits_max &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string joined_gpus(std::vector<std::string> kinds) {
  std::ranges::sort(kinds);
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return fmt::format("{}", fmt::join(kinds, ","));
}

std::string gpu_of_nvidia(std::string_view answer) {
  std::vector<std::string> kinds;
  for (const std::string_view line : lines_of(answer)) {
    const std::size_t point = line.find('.');
    if (point == std::string_view::npos) continue;
    const std::string_view major = line.substr(0, point), minor = line.substr(point + 1);
    if (is_digits(major) && is_digits(minor)) kinds.push_back(fmt::format("sm_{}{}", major, minor));
  }
  return joined_gpus(std::move(kinds));
}

std::string gpu_of_kfd(std::string_view properties) {
  constexpr std::string_view name = "gfx_target_version ";
  for (const std::string_view line : lines_of(properties)) {
    if (!line.starts_with(name)) continue;
    unsigned version = 0;
    const auto [end, error] =
        std::from_chars(line.data() + name.size(), line.data() + line.size(), version);
    if (error != std::errc() || end != line.data() + line.size() || version == 0) return "";
    return fmt::format("gfx{}{:x}{:x}", version / 10'000, version / 100 % 100, version % 100);
  }
  return "";
}

bool is_for_gpus(std::string_view torch) {
  return !torch.ends_with("+cpu");
}

}  // namespace headway::cache
