#include "base/near_name.h"

#include <algorithm>
#include <vector>

namespace headway::base {

std::optional<std::size_t> nearness(std::string_view word, std::string_view known) {
  // Rows of Levenshtein's table; a swap looks two of them back.
  std::vector<std::size_t> before(known.size() + 1), above(known.size() + 1), row(known.size() + 1);
  for (std::size_t j = 0; j <= known.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= known.size(); ++j) {
      const std::size_t changed = above[j - 1] + (word[i - 1] == known[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, changed});
      const bool swapped =
          i > 1 && j > 1 && word[i - 1] == known[j - 2] && word[i - 2] == known[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  const std::size_t steps = row[known.size()];
  if (steps > std::max<std::size_t>(1, word.size() / 3)) return std::nullopt;
  return steps;
}

}  // namespace headway::base
