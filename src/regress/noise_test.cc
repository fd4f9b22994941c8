#include "regress/noise.h"

#include <gtest/gtest.h>

#include "regress/test_series.h"

namespace headway::regress {
namespace {

double mean_ratio(double day_noise, std::size_t at, double factor) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sum += scatter_of(noisy(60, at, factor, seed, day_noise)).ratio / 200;
  }
  return sum;
}

TEST(Noise, QuietDaysScatterAsTheirCountsSay) {
  EXPECT_NEAR(mean_ratio(0, 60, 1), 1, 0.05);
}

TEST(Noise, AChangeIsNotScatter) {
  EXPECT_NEAR(mean_ratio(0, 40, 2), 1, 0.12);  // its one difference is cut off, not a chance one
}

TEST(Noise, RestlessDaysShow) {
  EXPECT_NEAR(mean_ratio(0.02, 60, 1), 5, 0.3);  // (0.01² + 0.02²) / 0.01²
}

TEST(Noise, WhatTheOthersShowSteadiesOne) {
  const Series series = noisy(60, 60, 1, 1);
  EXPECT_EQ(noise_of(series, {1.2, 59, false, {}}, 1.0).day_variance, 0);
  EXPECT_EQ(noise_of(series, {1.2, 59, false, {}}, 1.0).freedom, 0);
  const Noise restless = noise_of(series, {5, 59, false, {}}, 1.0);
  EXPECT_NEAR(restless.day_variance, 4 * 0.01 / 100, 1e-12);
  EXPECT_GT(restless.freedom, 0);
  EXPECT_GT(noise_of(series, {1.2, 59, false, {}}, 3.0).day_variance, 0);
}

TEST(Noise, AWeeksRhythmIsFoundAndTakenOut) {
  Series series = noisy(56, 56, 1, 3);
  EXPECT_FALSE(scatter_of(series).weekly);
  for (Cell& cell : series.cells) {
    if (weekday_of(cell.day) < 2) cell.value += 0.05;
  }
  const Scatter scatter = scatter_of(series);
  ASSERT_TRUE(scatter.weekly);
  EXPECT_LT(scatter.ratio, 1.8);
  EXPECT_NEAR(scatter.weekday[0] - scatter.weekday[4], 0.05, 0.015);
}

TEST(Noise, FewDaysSayNothing) {
  EXPECT_EQ(scatter_of(noisy(4, 4, 1, 1)).ratio, 1);
  EXPECT_EQ(scatter_of(Series{}).ratio, 1);
}

}  // namespace
}  // namespace headway::regress
