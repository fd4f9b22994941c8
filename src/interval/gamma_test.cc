#include "interval/gamma.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headway::interval {
namespace {

// Reference values to 14 digits, from arithmetic with 40.
TEST(Gamma, DistributionIsRight) {
  struct Known {
    double shape, x, p;
  };
  for (const Known& k : {Known{0.05, 1e-3, 0.727179229052923}, Known{0.5, 0.5, 0.682689492137086},
                         Known{1, 1, 0.632120558828558}, Known{2.5, 1, 0.15085496391539},
                         Known{10, 12, 0.757607838329488}, Known{10, 5, 0.0318280573062048},
                         Known{100, 90, 0.15822098918643}, Known{1000, 1100, 0.99894067674607},
                         Known{20000, 20100, 0.760616705561418}}) {
    EXPECT_NEAR(gamma_cdf(k.shape, k.x), k.p, 1e-11) << k.shape << " " << k.x;
  }
  EXPECT_EQ(gamma_cdf(2, 0), 0);
  EXPECT_EQ(gamma_cdf(2, -1), 0);
  EXPECT_NEAR(gamma_cdf(2, 1e6), 1, 1e-15);
}

TEST(Gamma, QuantilesAreRight) {
  struct Known {
    double shape, low, median, high;
  };
  for (const Known& k : {Known{0.05, 5.5738754818788e-27, 5.5738784407462e-7, 0.26593230242584},
                         Known{0.35, 0.00013798127534915, 0.10736948586184, 1.5219583700384},
                         Known{0.6, 0.0056448342899493, 0.31570201701611, 2.1590120538479},
                         Known{1, 0.051293294387551, 0.69314718055995, 2.995732273554},
                         Known{4, 1.3663183967498, 3.6720607488509, 7.7536565279327},
                         Known{22, 14.893738540431, 21.667579489832, 30.240443291168},
                         Known{300, 272.09003719328, 299.66673259044, 329.04678656886},
                         Known{5000, 4884.2625678338, 4999.6666706176, 5116.874448839}}) {
    EXPECT_NEAR(gamma_quantile(k.shape, 0.05) / k.low, 1, 1e-9) << k.shape;
    EXPECT_NEAR(gamma_quantile(k.shape, 0.5) / k.median, 1, 1e-9) << k.shape;
    EXPECT_NEAR(gamma_quantile(k.shape, 0.95) / k.high, 1, 1e-9) << k.shape;
  }
  // Tables of chi squared: twice a gamma of half the degrees.
  EXPECT_NEAR(2 * gamma_quantile(0.5, 0.95), 3.841, 0.0005);
  EXPECT_NEAR(2 * gamma_quantile(5, 0.99), 23.209, 0.0005);
  EXPECT_NEAR(2 * gamma_quantile(50, 0.05), 77.929, 0.0005);
}

TEST(Gamma, QuantileAndDistributionAreInverse) {
  for (double shape = 0.03; shape < 1e7; shape *= 2.7) {
    for (const double p : {0.001, 0.05, 0.3, 0.5, 0.9, 0.999}) {
      const double x = gamma_quantile(shape, p);
      if (x == 0) continue;
      EXPECT_NEAR(gamma_cdf(shape, x), p, 1e-8) << shape;
    }
  }
}

TEST(Gamma, WhatIsTooSmallForADoubleIsNothing) {
  EXPECT_EQ(gamma_quantile(1e-3, 0.05), 0);
  EXPECT_GT(gamma_quantile(1e-3, 0.9999), 0);
}

TEST(Gamma, LargeShapesGoOnWhereSmallerOnesEnd) {
  const double below = gamma_quantile(0.999e6, 0.95) / 0.999e6;
  const double above = gamma_quantile(1.001e6, 0.95) / 1.001e6;
  EXPECT_NEAR(below, above, 3e-6);
  EXPECT_GT(below, above) << "more events, less doubt";
}

}  // namespace
}  // namespace headway::interval
