// "Did you mean …": how near a word is to one that exists. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace headway::base {

// The number of letters to change, insert, drop or swap with the next; nullopt where it takes more
// than a third of the word, which makes it another word.
[[nodiscard]] std::optional<std::size_t> nearness(std::string_view word, std::string_view known);

}  // namespace headway::base
