#include "failure/line_shape.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::failure {
namespace {

TEST(LineShape, DigitsAreAlike) {
  constexpr unsigned kSeed = 31;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::string shape;
  for (int round = 0; round < 2000; ++round) {
    std::string line;
    for (auto i = random() % 40; i > 0; --i) line += static_cast<char>(random() % 256);
    for (auto i = random() % 20; i > 0; --i) line += "0123456789:/a "[random() % 14];
    std::string expected = line, other = line;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] < '0' || line[i] > '9') continue;
      expected[i] = kAnyDigit;
      other[i] = static_cast<char>('0' + random() % 10);
    }
    const std::uint64_t hash = shape_of(line, shape);
    ASSERT_EQ(shape, expected);
    ASSERT_EQ(shape_of(other, shape), hash);
    ASSERT_EQ(shape, expected);
  }
}

TEST(LineShape, PatternsForAnyDigits) {
  EXPECT_EQ(for_any_digits(R"(\(404\) x{2,3})"), R"(\(\d\d\d\) x{2,3})");
  EXPECT_EQ(for_any_digits(R"(50[0234] (GET|PUT))"), R"(\d\d[0234\d] (GET|PUT))");
  EXPECT_EQ(for_any_digits(R"([1-9a-f][0-9.]\d)"), R"([1-9a-f\d][0-9.]\d)");
  for (const char* pattern : {R"([^7])", R"(\x31)", R"([[:digit:]])", R"(a{)", R"([)", R"([])"}) {
    EXPECT_EQ(for_any_digits(pattern), std::nullopt) << pattern;
  }
}

TEST(LineShape, WhichPatternsDoNotCare) {
  for (const char* pattern : {R"(^\s{0,4}\d+: )", R"(^([A-Za-z_]\w*\.)*\w*(Error|Exit)(: |$))",
                              R"([0-9]+ of [a-f]+$)", R"(x{2,}[.-])", R"(^\[rank\d+\]:\s?)", ""}) {
    EXPECT_TRUE(ignores_which_digits(pattern)) << pattern;
  }
  for (const char* pattern : {R"(\(404\))", R"([0-8])", R"([+-z])", R"(\x31)", R"(\pN)", R"(a{)",
                              R"(\Q1)", R"([^7])", "\\"}) {
    EXPECT_FALSE(ignores_which_digits(pattern)) << pattern;
  }
}

}  // namespace
}  // namespace headway::failure
