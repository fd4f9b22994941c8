// A line with all its digits made alike: "step 17 | loss 2.31" has the shape "step 00 | loss 0.00".
// Lines of a log have few shapes, so that what is true of a shape need not be found out again for
// each line. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway::failure {

// Every digit becomes this one.
inline constexpr char kAnyDigit = '0';

// Writes the shape into `shape` and returns its hash.
std::uint64_t shape_of(std::string_view line, std::string& shape);

// The pattern with any digit where it asks for a certain one: matches at least all lines that have
// the shape of one that the pattern matches. Nothing if that is not easily said.
[[nodiscard]] std::optional<std::string> for_any_digits(std::string_view pattern);
// Does the pattern match a line exactly if it matches all others of its shape? In doubt, no.
[[nodiscard]] bool ignores_which_digits(std::string_view pattern);

}  // namespace headway::failure
