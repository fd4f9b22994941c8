#include "regress/discovery.h"

#include <gtest/gtest.h>

#include <array>

namespace headway::regress {
namespace {

// Ranks 1 … 5 of 5: p·5/rank is 0.005, 0.02, 0.065, 0.05125, 0.6; from the top the least so far.
TEST(Discovery, BenjaminiHochbergByHand) {
  const std::array p = {0.041, 0.001, 0.6, 0.008, 0.039};
  const auto q = q_values(p, 5);
  ASSERT_EQ(q.size(), 5u);
  EXPECT_NEAR(q[0], 0.05125, 1e-12);
  EXPECT_NEAR(q[1], 0.005, 1e-12);
  EXPECT_NEAR(q[2], 0.6, 1e-12);
  EXPECT_NEAR(q[3], 0.02, 1e-12);
  EXPECT_NEAR(q[4], 0.05125, 1e-12);  // its own 0.065 is not more than what a worse p has
}

TEST(Discovery, SeriesWithoutARiseCountAsTests) {
  const std::array p = {0.01};
  EXPECT_NEAR(q_values(p, 1)[0], 0.01, 1e-12);
  EXPECT_NEAR(q_values(p, 50)[0], 0.5, 1e-12);
  EXPECT_EQ(q_values(p, 500)[0], 1);
  EXPECT_TRUE(q_values({}, 7).empty());
}

}  // namespace
}  // namespace headway::regress
