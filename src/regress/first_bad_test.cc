#include "regress/first_bad.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::regress {
namespace {

std::vector<Sample> samples(std::size_t n, std::size_t at, double rise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Sample> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = 4 + (i >= at ? rise : 0) + 0.1 * normal(random);
    out.push_back({i, static_cast<std::int64_t>(1000 * i), value, 1, 1});
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

TEST(FirstBad, AClearStepIsFoundToTheObservation) {
  const auto found = first_bad(samples(200, 120, 2, 1), 4, 6, 0.1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->t_ns, 120'000);
  EXPECT_EQ(found->low_ns, 119'000);  // the last good one
  EXPECT_EQ(found->high_ns, 120'000);
}

TEST(FirstBad, TheIntervalHoldsTheTruthNineteenTimesOfTwenty) {
  int inside = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto found = first_bad(samples(600, 300, 0.08, seed), 4, 4.08, 0.1);
    ASSERT_TRUE(found);
    inside += found->low_ns < 300'000 && 300'000 <= found->high_ns ? 1 : 0;
  }
  EXPECT_GT(inside, 0.92 * 400);
}

TEST(FirstBad, OneOutlierDecidesNothing) {
  std::vector<Sample> with = samples(200, 120, 0.5, 3);
  for (Sample& each : with) {
    if (each.index == 20) each.sum = 40;
  }
  const auto found = first_bad(with, 4, 4.5, 0.1);
  ASSERT_TRUE(found);
  EXPECT_NEAR(static_cast<double>(found->t_ns), 120'000, 2000);
}

TEST(FirstBad, NothingToGoBy) {
  EXPECT_FALSE(first_bad({}, 4, 5, 0.1));
  EXPECT_FALSE(first_bad(samples(5, 2, 1, 1), 4, 4, 0.1));
}

}  // namespace
}  // namespace headway::regress
