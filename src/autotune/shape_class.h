// Which problems are alike: a tuning's key, its values made coarse. Two problems of one class are
// expected to have the same good configurations:
//
//   a whole number from 2 on   the power of two below it, and whether 16 divides it: "2^10/16" is
//                              1024 … 2047 in steps of 16. Tiles are powers of two, and Triton
//                              compiles other code where 16 divides
//   0, 1, negative             itself: Triton compiles other code for 1
//   true, false, none          itself
//   any other number           itself, by its 64 bits: "f:3fe0000000000000"
//   text (types, layouts)      itself: 'torch.float16', bytes other than [A-Za-z0-9_.:-] as %XX
//
// python/headway/_pins.py says the same in Python, and a test compares the two. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::autotune {

[[nodiscard]] std::string class_of_integer(std::int64_t value);
[[nodiscard]] std::string exact_real(double value);
[[nodiscard]] std::string exact_text(std::string_view text);

}  // namespace headway::autotune
