// "1 file", "2 files", "0 files": a count in a message. Pages have numbers in groups of three: see
// cli/human.h. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::base {

// `many`: where it is not `one` with an s. Verbs, too: "1 file is", "2 files are".
[[nodiscard]] inline std::string plural(std::uint64_t n, std::string_view one,
                                        std::string_view many = {}) {
  std::string text = std::to_string(n) + " ";
  if (n == 1) return text.append(one);
  return many.empty() ? text.append(one).append("s") : text.append(many);
}

}  // namespace headway::base
