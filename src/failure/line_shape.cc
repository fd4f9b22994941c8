#include "failure/line_shape.h"

#include <algorithm>
#include <cstring>

namespace headway::failure {
namespace {

constexpr std::uint64_t kEach = 0x0101010101010101;  // one in every byte

// Eight bytes at once: what is a digit, 0x30 to 0x39, loses its lower half.
std::uint64_t without_digits(std::uint64_t word) {
  const std::uint64_t from_zero = word ^ (kEach * 0x30);
  const std::uint64_t beyond = ((from_zero & (kEach * 0x7F)) + kEach * 0x76) | from_zero;
  const std::uint64_t digits = (~beyond >> 7) & kEach;
  return word & ~(digits * 0x0F);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The class that begins at `at`, which is moved to its end.
std::optional<std::string> class_for_any_digits(std::string_view pattern, std::size_t& at) {
  const std::size_t begin = at;
  std::string certain;  // members apart from those that hold all digits or none
  for (++at; at < pattern.size() && pattern[at] != ']'; ++at) {
    const char c = pattern[at];
    if (c == '[') return {};  // [[:alpha:]]: too much to follow
    if (c == '\\') {
      ++at;
      continue;
    }
    const std::string_view range = pattern.substr(at, 3);
    if (range.size() == 3 && range[1] == '-' && range[2] != ']') {
      const bool letters = is_letter(range[0]) && is_letter(range[2]);
      if (!letters && range != "0-9") certain += range;
      at += 2;
    } else if (is_digit(c)) {
      certain += c;
    }
  }
  if (at >= pattern.size() || at == begin + 1) return {};
  const std::string_view whole = pattern.substr(begin, at + 1 - begin);
  if (certain.empty()) return std::string(whole);
  if (whole[1] == '^') return {};
  return std::string(whole.substr(0, whole.size() - 1)) + "\\d]";
}

}  // namespace

std::uint64_t shape_of(std::string_view line, std::string& shape) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;
  shape.resize(line.size());
  std::uint64_t hash = line.size();
  for (std::size_t at = 0; at < line.size(); at += sizeof(std::uint64_t)) {
    const std::size_t bytes = std::min(sizeof(std::uint64_t), line.size() - at);
    std::uint64_t word = 0;
    if (bytes == sizeof(word)) {
      std::memcpy(&word, line.data() + at, sizeof(word));
      word = without_digits(word);
      std::memcpy(shape.data() + at, &word, sizeof(word));
    } else {
      std::memcpy(&word, line.data() + at, bytes);
      word = without_digits(word);
      std::memcpy(shape.data() + at, &word, bytes);
    }
    hash = (hash ^ word) * kMix;
    hash ^= hash >> 29;
  }
  return hash;
}

std::optional<std::string> for_any_digits(std::string_view pattern) {
  constexpr std::string_view kHarmless = "dDwWsSbBtnr.|()[]{}*+?^$-/:\\'\"";
  std::string out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      const std::string_view escape = pattern.substr(at, 2);
      if (escape.size() < 2 || kHarmless.find(escape[1]) == std::string_view::npos) return {};
      out += escape;
      ++at;
    } else if (c == '{') {
      // How often, not which.
      const std::size_t end = pattern.find('}', at);
      if (end == std::string_view::npos) return {};
      out += pattern.substr(at, end + 1 - at);
      at = end;
    } else if (c == '[') {
      const std::optional<std::string> class_out = class_for_any_digits(pattern, at);
      if (!class_out) return {};
      out += *class_out;
    } else {
      out += is_digit(c) ? "\\d" : std::string(1, c);
    }
  }
  return out;
}

bool ignores_which_digits(std::string_view pattern) {
  return for_any_digits(pattern) == pattern;
}

}  // namespace headway::failure
