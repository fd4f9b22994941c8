#include "failure/lines.h"

#include <charconv>
#include <cstddef>

namespace headway::failure {
namespace {

constexpr std::size_t rank_digits_max = 7;

// Takes up to rank_digits_max digits from the front; kNoRank if there is none or one too many.
int take_rank(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > rank_digits_max) return kNoRank;
  int rank = kNoRank;
  std::from_chars(text.data(), text.data() + digits, rank);
  text.remove_prefix(digits);
  return rank;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

}  // namespace

LineView attribute_line(std::string_view line, int rank) {
  std::string_view rest = line;
  if (take(rest, "[")) {
    const bool torch = take(rest, "rank");
    const int found = take_rank(rest);
    if (found == kNoRank || !take(rest, torch ? "]:" : "] ")) return {rank, line};
    if (torch) take(rest, " ");  // of an empty line only the colon is left
    return {found, rest};
  }
  constexpr int srun_spaces_max = 4;
  for (int spaces = 0; spaces < srun_spaces_max && (take(rest, " ") || take(rest, "\t"));
       ++spaces) {
  }
  const int found = take_rank(rest);
  if (found != kNoRank && take(rest, ": ")) return {found, rest};
  return {rank, line};
}

}  // namespace headway::failure
