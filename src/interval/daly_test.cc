#include "interval/daly.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace headway::interval {
namespace {

constexpr double kDay = 86'400;
constexpr Exponential kExample{.cost_s = 15, .mean_s = kDay / 3};

TEST(Daly, OfThePublishedExample) {
  EXPECT_NEAR(daly_interval_s(kExample), 919.5, 0.05);
  EXPECT_NEAR(exact_waste(daly_interval_s(kExample), kExample), 0.03193, 5e-6);
}

TEST(Daly, HigherOrderIsNearTheExactOptimum) {
  for (const double cost_s : {0.1, 1.0, 15.0, 200.0, 2000.0}) {
    const Exponential job{.cost_s = cost_s, .mean_s = kDay / 3};
    const double exact_s = exact_interval_s(job);
    EXPECT_NEAR(daly_interval_s(job) / exact_s, 1, 0.002) << cost_s;
    const double least = exact_waste(exact_s, job);
    for (double factor = 0.2; factor < 5; factor *= 1.05) {
      EXPECT_GE(exact_waste(exact_s * factor, job), least) << cost_s << " " << factor;
    }
  }
}

TEST(Daly, HasNoMoreToSayWhenSavesTakeAsLongAsFailures) {
  EXPECT_DOUBLE_EQ(daly_interval_s({.cost_s = 300, .mean_s = 100}), 100);
}

TEST(Daly, LagIsLostWithEveryFailure) {
  Exponential job = kExample;
  job.persist_lag_s = 60;
  EXPECT_NEAR(exact_waste(900, job) - exact_waste(900, kExample), 60 * 3 / kDay, 1e-12);
}

// The model itself, lived: work, saves and failures as they come, three thousand days of them.
TEST(Daly, AgreesWithASimulation) {
  constexpr std::uint64_t kSeed = 20261115;
  constexpr double kWall = 3000 * kDay;
  const double interval_s = daly_interval_s(kExample);
  std::mt19937_64 random(kSeed);
  const auto until_failure = [&] {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return -std::log1p(-u) * kExample.mean_s;
  };
  double wall = 0;
  double kept = 0;
  double failure = until_failure();
  while (wall < kWall) {
    if (failure < interval_s + kExample.cost_s) {
      wall += failure;
      failure = until_failure();
    } else {
      wall += interval_s + kExample.cost_s;
      failure -= interval_s + kExample.cost_s;
      kept += interval_s;
    }
  }
  EXPECT_NEAR(1 - kept / wall, exact_waste(interval_s, kExample), 0.0003) << "seed " << kSeed;
  EXPECT_NEAR(1 - kept / wall, 0.0319, 0.0003) << "seed " << kSeed;
}

}  // namespace
}  // namespace headway::interval
