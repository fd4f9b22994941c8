// Output as lines: where one ends and whose it is. Views into what is given; nothing is copied.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace headway::failure {

inline constexpr int kNoRank = -1;  // the launcher's or the scheduler's own words

struct LineView {
  int rank = kNoRank;
  std::string_view text;
};

// The line's rank, where it begins with one: "[3] …" (headway run), "[rank3]: …" (torch), "3: …"
// (srun -l). The mark is cut off. Otherwise `rank`.
[[nodiscard]] LineView attribute_line(std::string_view line, int rank);

// Calls take(LineView) for each line of `text`. '\n', "\r\n" and a lone '\r' (a progress bar) end
// one. `mixed`: the text may hold lines of several ranks, told by their marks.
template <typename Take>
void each_line(std::string_view text, int rank, bool mixed, const Take& take) {
  const auto give = [&](std::string_view line) {
    take(mixed ? attribute_line(line, rank) : LineView{rank, line});
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t back = line.find('\r'); back != std::string_view::npos;
         back = line.find('\r')) {
      if (back > 0) give(line.substr(0, back));
      line.remove_prefix(back + 1);
    }
    give(line);
  }
}

}  // namespace headway::failure
