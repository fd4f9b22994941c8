// JSON as Python writes it: NaN, Infinity and -Infinity may stand where a number does, which no
// JSON reader takes. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace headway::autotune {

// The same text with `null` for each of them, outside of strings. NaN: not a time; infinity: it
// could not be run. Both mean that there is no time.
[[nodiscard]] std::string tame_json(std::string_view text);

}  // namespace headway::autotune
