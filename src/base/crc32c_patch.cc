#include "base/crc32c_patch.h"

#include <array>
#include <cstddef>

namespace headway::base {
namespace {

// Polynomials over one bit, modulo Castagnoli's; the highest bit is the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0x82F63B78;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= b & (0U - ((a >> bit) & 1U));
    b = (b >> 1) ^ (kPolynomial & (0U - (b & 1U)));
  }
  return product;
}

// x^8, x^16, x^32, …
constexpr std::array<std::uint32_t, 64> make_squares() {
  std::array<std::uint32_t, 64> squares{};
  squares[0] = kOne >> 8;
  for (std::size_t i = 1; i < squares.size(); ++i) {
    squares[i] = times(squares[i - 1], squares[i - 1]);
  }
  return squares;
}
constexpr std::array<std::uint32_t, 64> kSquares = make_squares();

}  // namespace

std::uint32_t crc32c_times(std::uint32_t a, std::uint32_t b) {
  return times(a, b);
}

std::uint32_t crc32c_power(std::uint64_t bytes) {
  std::uint32_t power = kOne;
  for (std::size_t i = 0; bytes != 0; ++i, bytes >>= 1) {
    if ((bytes & 1) != 0) power = times(power, kSquares[i]);
  }
  return power;
}

}  // namespace headway::base
