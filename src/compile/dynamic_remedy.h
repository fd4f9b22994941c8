// Why a change cannot be told to torch by its name, and the line for the script that helps in its
// place. Every line is Python as it stands: where the script's own expression is not known, a plain
// word (tensor, number, function) stands for it, and a comment says what that is. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compile/compile_log.h"

namespace headway::compile {

enum class Obstacle : std::uint8_t {
  none,
  dimensions,  // how many there are changes
  strides,     // the layout in memory, and no size with it
  untold,      // torch does not say what
  fraction,    // a number that is not whole
  too_long,    // of its name only the beginning is known
  address,     // its name has one in it
  one_value    // it can be named, and the code holds for one value of it all the same
};

// What a change was or is, where torch tells of it as a whole number.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

// none … address.
[[nodiscard]] Obstacle obstacle_of(const DynamicChange& change);
[[nodiscard]] std::string_view why(Obstacle obstacle);

// `function` takes it: "forward (train.py:12)". "": there is no such line, why() tells what to do.
// For Obstacle::none the line that makes it dynamic in this function only.
[[nodiscard]] std::string remedy_line(Obstacle obstacle, const DynamicChange& change,
                                      std::string_view function);

}  // namespace headway::compile
