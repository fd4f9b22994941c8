#include "interval/rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headway::interval {
namespace {

constexpr double kDay = 86'400;

TEST(Rate, BeginsAtOneADay) {
  const RateEstimate rate;
  EXPECT_DOUBLE_EQ(rate.all().mean_per_s() * kDay, 1);
  double sum = 0;
  for (const Tier tier : {Tier::process, Tier::node, Tier::zone}) {
    sum += rate.of(tier).mean_per_s() * kDay;
  }
  EXPECT_NEAR(sum, 1, 1e-12) << "the tiers share the one prior";
  const Range range = credible_range(rate.all());
  EXPECT_NEAR(range.lo * kDay, 0.0513, 0.0001);
  EXPECT_NEAR(range.hi * kDay, 2.9957, 0.0001);
}

TEST(Rate, LearnsFromFailuresAndHours) {
  RateEstimate rate;
  rate.add_time(7 * kDay);
  for (int i = 0; i < 20; ++i) rate.add_failure(Tier::process);
  rate.add_failure(Tier::node);
  EXPECT_DOUBLE_EQ(rate.all().mean_per_s() * kDay, 22.0 / 8);
  EXPECT_DOUBLE_EQ(rate.of(Tier::process).mean_per_s() * kDay, 20.6 / 8);
  EXPECT_DOUBLE_EQ(rate.of(Tier::node).mean_per_s() * kDay, 1.35 / 8);
  const Range range = credible_range(rate.all());
  EXPECT_NEAR(range.lo * kDay, 14.893738540431 / 8, 1e-6);
  EXPECT_NEAR(range.hi * kDay, 30.240443291168 / 8, 1e-6);
}

TEST(Rate, ProcessesBeginAgainFromAReplicaWhereThereIsOne) {
  const RateEstimate rate;
  EXPECT_EQ(rate.failures(false).per_s(Answer::staged), 0);
  EXPECT_DOUBLE_EQ(rate.failures(true).per_s(Answer::staged) * kDay, 0.6);
  // Three machines of four were served by the others' memory, one process of two by the disk.
  Answered seen;
  for (int i = 0; i < 3; ++i) seen.add(Tier::node, Answer::staged);
  seen.add(Tier::node, Answer::durable);
  seen.add(Tier::process, Answer::staged);
  seen.add(Tier::process, Answer::durable);
  EXPECT_EQ(seen.total(Answer::staged), 4);
  EXPECT_EQ(seen.total(Answer::durable), 2);
  EXPECT_DOUBLE_EQ(rate.failures(true, seen)[Tier::node].staged, 3.0 / 5);
  EXPECT_DOUBLE_EQ(rate.failures(true, seen)[Tier::process].staged, 2.0 / 3);
  EXPECT_DOUBLE_EQ(rate.failures(true, seen).per_s(), rate.failures(false).per_s());
  EXPECT_EQ(rate.failures(false, seen).per_s(Answer::staged), 0) << "there is no such memory";
  EXPECT_DOUBLE_EQ(rate.failures(true).per_s() * kDay, rate.failures(false).per_s() * kDay);
}

TEST(Rate, FamilyCountsAtADiscountAndNotForEver) {
  History family;
  family[Tier::node] = 8;
  family.seconds = 4 * kDay;
  const RateEstimate young({}, family);
  EXPECT_DOUBLE_EQ(young.all().mean_per_s() * kDay, (1 + 4.0) / (1 + 2.0));
  EXPECT_DOUBLE_EQ(young.of(Tier::node).shape, 0.35 + 4);

  family[Tier::node] = 2000;
  family.seconds = 1000 * kDay;
  RateEstimate old({}, family);
  EXPECT_DOUBLE_EQ(old.all().seconds, kDay + Prior::family_max_s);
  EXPECT_NEAR(old.all().mean_per_s() * kDay, (1 + 2 * 14.0) / 15, 1e-12);
  History own;
  own.seconds = 60 * kDay;
  old.add(own);
  EXPECT_LT(old.all().mean_per_s() * kDay, 0.5) << "what this job does itself counts more";
}

// Expected waste above the least possible, after so many days of a job that truly fails three times
// a day: over all numbers of failures that it may have seen, each as likely as it is.
double excess_after(double days) {
  constexpr double kTrue = 3;
  SaveCost cost;
  cost.blocking_s = 15;
  const Failures truth = one_rate(kTrue / kDay);
  const double least = waste_at(best_plan(cost, truth), cost, truth).total();
  double sum = 0;
  for (int n = 0; n < 150; ++n) {
    RateEstimate rate;
    History seen;
    seen[Tier::node] = n;
    seen.seconds = days * kDay;
    rate.add(seen);
    const double mean = kTrue * days;
    const double chance =
        mean == 0 ? (n == 0 ? 1 : 0) : std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
    const Plan plan = best_plan(cost, rate.failures(false));
    sum += chance * (waste_at(plan, cost, truth).total() / least - 1);
  }
  return sum;
}

TEST(Rate, ApproachesTheOptimumWithinAWeek) {
  EXPECT_NEAR(excess_after(0), 0.155, 0.001);
  EXPECT_NEAR(excess_after(1), 0.064, 0.001);
  EXPECT_NEAR(excess_after(2), 0.032, 0.001);
  EXPECT_NEAR(excess_after(7), 0.007, 0.0005);
}

}  // namespace
}  // namespace headway::interval
