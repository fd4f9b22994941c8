#include "interchange/decimal_time.h"

#include <charconv>
#include <cmath>

#include "base/check.h"

namespace headway::interchange {
namespace {

__extension__ using Wide = __int128;

constexpr std::size_t kDigitsMax = 400;  // a double's longest plain decimal text is shorter
constexpr int kNsDigits = 9;
constexpr int kExponentMax = 400;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The parts of a JSON number, as written.
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;
};

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t i = from;
  while (i < text.size() && is_digit(text[i])) ++i;
  return i - from;
}

std::optional<Decimal> split(std::string_view text) {
  Decimal d;
  std::size_t i = 0;
  if (i < text.size() && text[i] == '-') {
    d.negative = true;
    ++i;
  }
  std::size_t n = digits_at(text, i);
  if (n == 0 || n > kDigitsMax || (n > 1 && text[i] == '0')) return std::nullopt;
  d.whole = text.substr(i, n);
  i += n;
  if (i < text.size() && text[i] == '.') {
    n = digits_at(text, ++i);
    if (n == 0 || n > kDigitsMax) return std::nullopt;
    d.fraction = text.substr(i, n);
    i += n;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    bool negative = false;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) negative = text[i++] == '-';
    n = digits_at(text, i);
    if (n == 0) return std::nullopt;
    for (std::size_t k = 0; k < n; ++k) {
      d.exponent = d.exponent * 10 + (text[i + k] - '0');
      if (d.exponent > kExponentMax) d.exponent = kExponentMax;
    }
    if (negative) d.exponent = -d.exponent;
    i += n;
  }
  if (i != text.size()) return std::nullopt;
  return d;
}

constexpr std::size_t kPlainDigitsMax = 18;  // cannot overflow

// Plain digits, no sign, no leading zero: nearly every number of nearly every file. -1: not that.
std::int64_t plain_digits(std::string_view text) {
  if (text.empty() || text.size() > kPlainDigitsMax || (text.size() > 1 && text[0] == '0'))
    return -1;
  std::int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "1763242444.123457" and the like. -1: the general way must decide.
std::int64_t plain_seconds(std::string_view text) {
  constexpr std::size_t kWholeMax = 10;
  constexpr std::int64_t kPowers[kNsDigits + 1] = {
      1'000'000'000, 100'000'000, 10'000'000, 1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (whole.size() > kWholeMax) return -1;
  const std::int64_t seconds = plain_digits(whole);
  if (seconds < 0 || seconds > 4'000'000'000) return -1;
  if (point == std::string_view::npos) return seconds * kPowers[0];
  const std::string_view fraction = text.substr(point + 1);
  if (fraction.empty() || fraction.size() > kNsDigits) return -1;
  std::int64_t part = 0;
  for (const char c : fraction) {
    if (!is_digit(c)) return -1;
    part = part * 10 + (c - '0');
  }
  return seconds * kPowers[0] + part * kPowers[fraction.size()];
}

}  // namespace

std::optional<std::int64_t> seconds_text_to_ns(std::string_view text) {
  if (const std::int64_t plain = plain_seconds(text); plain >= 0) return plain;
  const auto d = split(text);
  if (!d) return std::nullopt;
  // The digits in a row, the decimal point after `point` of them; ns wants nine more.
  const auto digits = static_cast<int>(d->whole.size() + d->fraction.size());
  const int wanted = static_cast<int>(d->whole.size()) + d->exponent + kNsDigits;
  const auto digit = [&](int i) -> int {
    if (i < 0 || i >= digits) return 0;
    const auto u = static_cast<std::size_t>(i);
    return (u < d->whole.size() ? d->whole[u] : d->fraction[u - d->whole.size()]) - '0';
  };
  Wide ns = 0;
  for (int i = 0; i < wanted; ++i) {
    ns = ns * 10 + digit(i);
    if (ns > kTimeMaxNs) return std::nullopt;
  }
  if (wanted >= 0 && digit(wanted) >= 5) ++ns;
  if (ns > kTimeMaxNs) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(ns);
  return d->negative ? -magnitude : magnitude;
}

std::optional<std::int64_t> seconds_to_ns(double seconds) {
  if (!std::isfinite(seconds)) return std::nullopt;
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), seconds);
  if (error != std::errc()) return std::nullopt;
  return seconds_text_to_ns({text, static_cast<std::size_t>(end - text)});
}

std::optional<std::int64_t> integer_text(std::string_view text) {
  if (const std::int64_t plain = plain_digits(text); plain >= 0) return plain;
  const auto d = split(text);
  if (!d || !d->fraction.empty() || text.find_first_of("eE") != std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void append_seconds(std::string& out, std::int64_t ns) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  if (ns < 0) out += '-';
  const std::uint64_t magnitude =
      ns < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  out += std::to_string(magnitude / kNsPerSecond);
  std::uint64_t rest = magnitude % kNsPerSecond;
  if (rest == 0) return;
  char digits[kNsDigits];
  for (int i = kNsDigits - 1; i >= 0; --i) {
    digits[i] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  std::size_t length = kNsDigits;
  while (digits[length - 1] == '0') --length;
  HW_CHECK(length > 0);
  out += '.';
  out.append(digits, length);
}

}  // namespace headway::interchange
