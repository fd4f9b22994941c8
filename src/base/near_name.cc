#include "base/near_name.h"

#include <algorithm>
#include <vector>

namespace headway::base {

std::optional<std::size_t> nearness(std::string_view word, std::string_view known) {
  std::vector<std::size_t> row(known.size() + 1);  // of Levenshtein's table
  for (std::size_t j = 0; j <= known.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= known.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t changed = diagonal + (word[i - 1] == known[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, changed});
      diagonal = above;
    }
  }
  const std::size_t steps = row[known.size()];
  if (steps > std::max<std::size_t>(1, word.size() / 3)) return std::nullopt;
  return steps;
}

}  // namespace headway::base
