#include "regress/tail.h"

#include <gtest/gtest.h>

namespace headway::regress {
namespace {

TEST(Tail, OfTheNormalDistribution) {
  EXPECT_NEAR(normal_tail(0), 0.5, 1e-15);
  EXPECT_NEAR(normal_tail(1.959963985), 0.025, 1e-10);
  EXPECT_NEAR(normal_tail(-1.959963985), 0.975, 1e-10);
  EXPECT_NEAR(normal_tail(6) / 9.865876450e-10, 1, 1e-8);
}

TEST(Tail, OfStudentsDistribution) {
  EXPECT_NEAR(student_tail(1, 1), 0.25, 1e-12);  // Cauchy's
  EXPECT_NEAR(student_tail(12.7062047364, 1), 0.025, 1e-10);
  EXPECT_NEAR(student_tail(2.2281388520, 10), 0.025, 1e-10);
  EXPECT_NEAR(student_tail(-2.2281388520, 10), 0.975, 1e-10);
  EXPECT_NEAR(student_tail(4, 1e7) / normal_tail(4), 1, 1e-4);
}

TEST(Tail, FishersLadyTastingTea) {
  // Four cups of each kind, three of four named right: (16 + 1 + 16 + 1) / 70.
  EXPECT_NEAR(fisher({3, 1, 1, 3}), 34.0 / 70, 1e-12);
  EXPECT_NEAR(fisher({4, 0, 0, 4}), 2.0 / 70, 1e-12);
  EXPECT_NEAR(fisher({2, 2, 2, 2}), 1, 1e-12);
  EXPECT_NEAR(fisher({0, 5, 0, 7}), 1, 1e-12);  // nobody has it: nothing to tell
}

}  // namespace
}  // namespace headway::regress
