// A text that is too long for its place, made shorter. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headway::base {

// At most `bytes_max` bytes: where it is longer, " … " stands for its middle. A message begins with
// what went wrong and ends with what to do about it, so both stay; words and characters (UTF-8) are
// kept whole where they can be.
[[nodiscard]] std::string cut_in_the_middle(std::string_view text, std::size_t bytes_max);

// Its beginning: at most `bytes_max` bytes, no character (UTF-8) cut in two.
[[nodiscard]] std::string_view cut_text(std::string_view text, std::size_t bytes_max);

}  // namespace headway::base
