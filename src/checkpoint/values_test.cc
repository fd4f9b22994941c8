#include "checkpoint/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace headway::checkpoint {
namespace {

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Values, SmallFloats) {
  EXPECT_EQ(half_to_double(0x3C00), 1);
  EXPECT_EQ(half_to_double(0xC100), -2.5);
  EXPECT_EQ(half_to_double(0x7BFF), 65504);
  EXPECT_EQ(half_to_double(0x0001), std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(half_to_double(0xFC00)) && std::isnan(half_to_double(0x7C01)));
  EXPECT_EQ(f8_e4m3_to_double(0x38), 1);
  EXPECT_EQ(f8_e4m3_to_double(0x7E), 448) << "no infinity";
  EXPECT_TRUE(std::isnan(f8_e4m3_to_double(0xFF)));
  EXPECT_EQ(f8_e5m2_to_double(0x7B), 57344);
  EXPECT_TRUE(std::isinf(f8_e5m2_to_double(0x7C)) && std::isnan(f8_e5m2_to_double(0x7D)));
}

TEST(Values, StatisticsOfEveryWidth) {
  Statistics s;
  add_values(DType::f32, bytes(std::vector<float>{1, -3, 0, NAN, INFINITY}), s);
  add_values(DType::f32, bytes(std::vector<float>{6}), s);
  EXPECT_EQ(s.count, 6U);
  EXPECT_EQ(s.nan, 1U);
  EXPECT_EQ(s.inf, 1U);
  EXPECT_EQ(s.zero, 1U);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 6);
  EXPECT_EQ(s.mean(), 1);
  const auto range = [](DType dtype, std::span<const std::byte> data) {
    Statistics each;
    add_values(dtype, data, each);
    return std::pair(each.min, each.max);
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(range(DType::i8, bytes(std::vector<std::int8_t>{-128, 127})), Pair(-128, 127));
  EXPECT_EQ(range(DType::u8, bytes(std::vector<std::uint8_t>{1, 255})), Pair(1, 255));
  EXPECT_EQ(range(DType::i16, bytes(std::vector<std::int16_t>{-5, 7})), Pair(-5, 7));
  EXPECT_EQ(range(DType::u16, bytes(std::vector<std::uint16_t>{5, 65535})), Pair(5, 65535));
  EXPECT_EQ(range(DType::i64, bytes(std::vector<std::int64_t>{-9, 1LL << 40})),
            Pair(-9, 1LL << 40));
  EXPECT_EQ(range(DType::f64, bytes(std::vector<double>{-1e300, 2})), Pair(-1e300, 2));
  EXPECT_EQ(range(DType::bf16, bytes(std::vector<std::uint16_t>{0x3F80, 0xC000})), Pair(-2, 1));
  EXPECT_EQ(range(DType::f16, bytes(std::vector<std::uint16_t>{0x3C00, 0xC000})), Pair(-2, 1));
}

TEST(Values, DifferencesAreOfBits) {
  const std::vector<float> a = {1, 2, 0, NAN, 5}, b = {1, 2.5, -0.0F, NAN, INFINITY};
  Difference d;
  add_difference(DType::f32, bytes(a), bytes(a), 0, d);
  EXPECT_FALSE(d.first);
  add_difference(DType::f32, bytes(a), bytes(b), 100, d);
  EXPECT_EQ(d.elements, 3U) << "0 and -0 have other bits; the same NaN has not";
  EXPECT_EQ(d.not_finite, 1U);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(*d.first, 101U);
}

}  // namespace
}  // namespace headway::checkpoint
