// How text may look where it is going: colours, characters, columns. What the process finds is
// gathered in one place (probe_output) and judged in another (choose_style), so that a test can say
// what a terminal is. Pure data; any thread, except that probe_output reads the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "timeline/bucket.h"

namespace headway::cli {

inline constexpr int width_default = 100;
inline constexpr int width_min = 60;
inline constexpr int width_max = 400;

// What a piece of text means. `plain` has no escape codes in any style.
enum class Ink : std::uint8_t {
  plain,
  strong,
  dim,
  scheduling,
  hardware_setup,
  launcher_init,
  compile,
  effective,
  repeated,  // wasted by a failure: replay, interrupted step, hang
  wasted,
  shutdown,
  down,
};

struct Style {
  bool color = false;
  bool unicode = false;
  int width = width_default;
};

enum class ColorWhen : std::uint8_t { automatic, always, never };

struct OutputFacts {
  bool terminal = false;
  int columns = 0;        // 0: not known
  bool no_color = false;  // NO_COLOR is set and not empty
  bool dumb = false;      // TERM=dumb
  std::string locale;     // LC_ALL, else LC_CTYPE, else LANG
};

[[nodiscard]] OutputFacts probe_output(int fd);
[[nodiscard]] Style choose_style(const OutputFacts& facts, ColorWhen when,
                                 std::optional<int> width);

// The escape code that turns an ink on, "" for plain.
[[nodiscard]] std::string_view ink_code(Ink ink);
inline constexpr std::string_view kInkOff = "\x1b[0m";

// How a slice of an attempt is drawn, and what the legend calls it.
struct Cell {
  Ink ink;
  std::string_view name;
  std::string_view letter;  // without colours
  std::string_view block;   // with colours, where blocks can be shown; higher is better
};
[[nodiscard]] const Cell& cell_of(timeline::Bucket bucket);
[[nodiscard]] std::span<const Cell> all_cells();  // in the order of a job's life
[[nodiscard]] std::string_view cell_text(const Cell& cell, const Style& style);
[[nodiscard]] Ink ink_of(timeline::Group group);

}  // namespace headway::cli
