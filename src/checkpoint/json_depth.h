// How deep JSON nests, told before it is parsed: a file of nothing but brackets would make a parser
// take many times its size in memory. Pure.
#pragma once

#include <string_view>

namespace headway::checkpoint {

inline constexpr int json_depth_max = 32;  // ours needs four; others may add keys

// More brackets open at once than `max`. Text that is no JSON may get either answer.
[[nodiscard]] bool nests_deeper(std::string_view json, int max = json_depth_max);

}  // namespace headway::checkpoint
