#include "autotune/shape_class.h"

#include <gtest/gtest.h>

#include <limits>

namespace headway::autotune {
namespace {

TEST(ShapeClass, PowersOfTwoAndSixteen) {
  EXPECT_EQ(class_of_integer(0), "0");
  EXPECT_EQ(class_of_integer(1), "1");
  EXPECT_EQ(class_of_integer(-7), "-7");
  EXPECT_EQ(class_of_integer(2), "2^1");
  EXPECT_EQ(class_of_integer(16), "2^4/16");
  EXPECT_EQ(class_of_integer(1023), "2^9");
  EXPECT_EQ(class_of_integer(1024), "2^10/16");
  EXPECT_EQ(class_of_integer(2032), "2^10/16");
  EXPECT_EQ(class_of_integer(2047), "2^10");
  EXPECT_EQ(class_of_integer(std::numeric_limits<std::int64_t>::max()), "2^62");
  EXPECT_EQ(class_of_integer(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(ShapeClass, TextsAndRealsAreExact) {
  EXPECT_EQ(exact_text("torch.float16"), "'torch.float16'");
  EXPECT_EQ(exact_text("a b'"), "'a%20b%27'");
  EXPECT_EQ(exact_text("\xc3\xa9"), "'%c3%a9'");
  EXPECT_EQ(exact_real(0.5), "f:3fe0000000000000");
  EXPECT_NE(exact_real(0.0), exact_real(-0.0));
}

}  // namespace
}  // namespace headway::autotune
