#include "checkpoint/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace headway::checkpoint {
namespace {

// A small float with its sign in the first bit.
double small_float(unsigned bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1);
  const unsigned exponent = bits >> mantissa_bits & ((1U << exponent_bits) - 1);
  const bool negative = (bits >> (mantissa_bits + exponent_bits) & 1) != 0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned top = (1U << exponent_bits) - 1;
  double value = 0;
  if (exponent == top && has_infinity) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == top && mantissa == (1U << mantissa_bits) - 1) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | 1U << mantissa_bits),
                       static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return negative ? -value : value;
}

// All 2^16 halves, once: a look is much faster than ldexp.
const std::array<float, 65536>& halves() {
  static const auto* table = [] {
    auto* made = new std::array<float, 65536>;
    for (unsigned i = 0; i < made->size(); ++i) {
      (*made)[i] = static_cast<float>(small_float(i, 5, 10, true));
    }
    return made;
  }();
  return *table;
}

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};
struct E4m3 {
  std::uint8_t bits;
};
struct E5m2 {
  std::uint8_t bits;
};

double to_double(Bf16 v) {
  return std::bit_cast<float>(std::uint32_t{v.bits} << 16);
}
double to_double(F16 v) {
  return halves()[v.bits];
}
double to_double(E4m3 v) {
  return f8_e4m3_to_double(v.bits);
}
double to_double(E5m2 v) {
  return f8_e5m2_to_double(v.bits);
}
template <typename T>
double to_double(T v) {
  return static_cast<double>(v);
}

// Calls use(T()) with the type of the elements.
template <typename Use>
void with_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return use(std::uint8_t{});
    case DType::i8:
      return use(std::int8_t{});
    case DType::f8_e4m3:
      return use(E4m3{});
    case DType::f8_e5m2:
      return use(E5m2{});
    case DType::i16:
      return use(std::int16_t{});
    case DType::u16:
      return use(std::uint16_t{});
    case DType::f16:
      return use(F16{});
    case DType::bf16:
      return use(Bf16{});
    case DType::i32:
      return use(std::int32_t{});
    case DType::u32:
      return use(std::uint32_t{});
    case DType::f32:
      return use(float{});
    case DType::i64:
      return use(std::int64_t{});
    case DType::u64:
      return use(std::uint64_t{});
    case DType::f64:
      return use(double{});
  }
}

template <typename T>
double value_at(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return to_double(value);
}

}  // namespace

double half_to_double(std::uint16_t bits) {
  return small_float(bits, 5, 10, true);
}
double f8_e4m3_to_double(std::uint8_t bits) {
  return small_float(bits, 4, 3, false);
}
double f8_e5m2_to_double(std::uint8_t bits) {
  return small_float(bits, 5, 2, true);
}

void add_values(DType dtype, std::span<const std::byte> data, Statistics& into) {
  with_type(dtype, [&]<typename T>(T) {
    HW_CHECK(data.size() % sizeof(T) == 0);
    Statistics s = into;
    for (std::size_t at = 0; at < data.size(); at += sizeof(T)) {
      const double value = value_at<T>(data.data() + at);
      if (std::isfinite(value)) {
        s.min = std::min(s.min, value);
        s.max = std::max(s.max, value);
        s.sum += value;
        s.zero += value == 0 ? 1 : 0;
      } else {
        ++(std::isnan(value) ? s.nan : s.inf);
      }
    }
    s.count += data.size() / sizeof(T);
    into = s;
  });
}

void add_difference(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
                    std::uint64_t index, Difference& into) {
  HW_CHECK(a.size() == b.size());
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return;
  with_type(dtype, [&]<typename T>(T) {
    HW_CHECK(a.size() % sizeof(T) == 0);
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
      if (std::memcmp(a.data() + at, b.data() + at, sizeof(T)) == 0) continue;
      ++into.elements;
      if (!into.first) into.first = index + at / sizeof(T);
      const double distance = std::abs(value_at<T>(a.data() + at) - value_at<T>(b.data() + at));
      if (std::isfinite(distance)) {
        into.max_abs = std::max(into.max_abs, distance);
      } else {
        ++into.not_finite;
      }
    }
  });
}

}  // namespace headway::checkpoint
