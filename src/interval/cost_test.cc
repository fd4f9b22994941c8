#include "interval/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace headway::interval {
namespace {

constexpr double kDay = 86'400;

SaveCost blocking(double seconds) {
  SaveCost out;
  out.blocking_s = seconds;
  return out;
}

TEST(Cost, OfThePublishedExample) {
  const SaveCost cost = blocking(15);
  const Failures failures = one_rate(3 / kDay);
  const Plan plan = best_plan(cost, failures);
  EXPECT_NEAR(plan.persist_s, 929.516, 0.001);
  EXPECT_EQ(plan.stage_s, plan.persist_s);
  const Waste waste = waste_at(plan, cost, failures);
  EXPECT_NEAR(waste.total(), 0.032275, 1e-6);
  EXPECT_NEAR(waste.saving, waste.lost, 1e-12) << "the two sides of the bargain are equal";
  // 3 failures a day lose half an interval each, and a day has so many saves.
  EXPECT_NEAR(waste.lost * kDay, 3 * plan.persist_s / 2, 1e-9);
  EXPECT_NEAR(waste.saving * kDay, kDay / plan.persist_s * 15, 1e-9);
}

TEST(Cost, OptimumIsFlat) {
  const SaveCost cost = blocking(15);
  const Failures failures = one_rate(3 / kDay);
  for (const auto& [factor, price] : {std::pair{2.0, 1.061}, {3.0, 1.155}, {10.0, 1.739}}) {
    EXPECT_NEAR(cost_of_wrong_rate(factor, cost, failures), price, 0.0005) << factor;
    EXPECT_NEAR(cost_of_wrong_rate(1 / factor, cost, failures), price, 0.0005) << factor;
  }
  EXPECT_DOUBLE_EQ(cost_of_wrong_rate(1, cost, failures), 1);
}

// Tuning for how long the call took, when steps are slow for much longer.
TEST(Cost, InterferenceIsPartOfIt) {
  const Failures failures = one_rate(3 / kDay);
  SaveCost cost = blocking(0.78);
  const double blind_s = best_plan(cost, failures).persist_s;
  cost.interference_s = 32 - 0.78;
  EXPECT_NEAR(waste_at(blind_s, cost, failures).total(), 0.155, 0.0005);
  EXPECT_NEAR(waste_at(best_plan(cost, failures), cost, failures).total(), 0.047, 0.0005);
}

TEST(Cost, PersistLagIsLostAndKeepsSavesApart) {
  const Failures failures = one_rate(3 / kDay);
  SaveCost cost = blocking(15);
  cost.persist_lag_s = 60;
  EXPECT_NEAR(best_plan(cost, failures).persist_s, 929.516, 0.001) << "no interval changes it";
  EXPECT_NEAR(waste_at(929.516, cost, failures).total(), 0.032275 + 3 * 60 / kDay, 1e-6);
  cost.persist_lag_s = 4000;
  EXPECT_DOUBLE_EQ(best_plan(cost, failures).persist_s, 4000);
  cost.in_flight_max = 3;
  EXPECT_NEAR(best_plan(cost, failures).persist_s, 4000.0 / 3, 1e-9);
  EXPECT_NEAR(best_plan(cost, failures, {.max_s = 100}).persist_s, 4000.0 / 3, 1e-9)
      << "what cannot be done cannot be asked for";
}

TEST(Cost, BoundsHold) {
  const SaveCost cost = blocking(15);
  EXPECT_DOUBLE_EQ(best_plan(cost, one_rate(3 / kDay), {.max_s = 600}).persist_s, 600);
  EXPECT_DOUBLE_EQ(best_plan(cost, one_rate(3 / kDay), {.min_s = 1200}).persist_s, 1200);
  EXPECT_DOUBLE_EQ(best_plan(cost, one_rate(0), {.max_s = 7200}).persist_s, 7200);
  EXPECT_TRUE(std::isinf(young_interval_s(15, 0)));
}

TEST(Cost, TwoIntervalsWhereMemoryAnswers) {
  SaveCost cost = blocking(2);
  cost.interference_s = 13;
  cost.stage_s = 0.1;
  Failures failures;
  failures[Tier::process] = {10 / kDay, 1};
  failures[Tier::node] = {1 / kDay, 0};
  const Plan plan = best_plan(cost, failures);
  EXPECT_NEAR(plan.stage_s, std::sqrt(2 * 0.1 * kDay / 10), 1e-9);
  EXPECT_NEAR(plan.persist_s, std::sqrt(2 * (15 - 0.1) * kDay), 1e-9);
  Failures without = failures;
  without[Tier::process].staged = 0;
  EXPECT_LT(waste_at(plan, cost, failures).total(),
            waste_at(best_plan(cost, without), cost, without).total() / 2);

  cost.stage_s = 15;  // memory is as dear as storage: one interval serves both
  const Plan one = best_plan(cost, failures);
  EXPECT_EQ(one.stage_s, one.persist_s);
  EXPECT_NEAR(one.persist_s, std::sqrt(2 * 15 * kDay / 11), 1e-9);
}

struct Case {
  SaveCost cost;
  Failures failures;
  Bounds bounds;
};

Case any_case(std::mt19937_64& random) {
  const auto between = [&](double lo, double hi) {  // by powers of ten
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return lo * std::pow(hi / lo, u);
  };
  Case out;
  out.cost.blocking_s = between(0.01, 100);
  out.cost.interference_s = between(0.01, 100);
  out.cost.persist_lag_s = between(0.1, 1000);
  out.cost.in_flight_max = 1 + static_cast<int>(random() % 3);
  out.cost.stage_s = out.cost.blocking_s * between(0.01, 1);
  for (const Tier tier : {Tier::process, Tier::node, Tier::zone}) {
    out.failures[tier].per_s = between(0.01, 30) / kDay;
  }
  if (random() % 2 == 0) out.failures[Tier::process].staged = 1;
  out.bounds = {.min_s = between(0.1, 100), .max_s = between(200, 1e5), .stage_min_s = 0.05};
  return out;
}

TEST(CostProperty, NoOtherPlanWastesLess) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const Case c = any_case(random);
    const Plan best = best_plan(c.cost, c.failures, c.bounds);
    const double least = waste_at(best, c.cost, c.failures).total();
    const double floor_s = std::max(c.bounds.min_s, c.cost.floor_s());
    EXPECT_GE(best.persist_s, floor_s * (1 - 1e-12)) << "seed " << seed;
    EXPECT_LE(best.stage_s, best.persist_s) << "seed " << seed;
    for (double persist_s = floor_s; persist_s <= c.bounds.max_s; persist_s *= 1.02) {
      for (double part = 1; part > 0.001; part *= 0.8) {
        const Plan other{part * persist_s, persist_s};
        if (part < 1 && other.stage_s < c.bounds.stage_min_s) break;
        EXPECT_GE(waste_at(other, c.cost, c.failures).total(), least * (1 - 1e-9))
            << "seed " << seed << " stage " << other.stage_s << " persist " << other.persist_s;
      }
    }
  }
}

TEST(CostProperty, WasteIsConvex) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const Case c = any_case(random);
    const auto at = [&](double s) { return waste_at(s, c.cost, c.failures).total(); };
    for (double a = 1; a < 1e5; a *= 1.7) {
      const double b = a * 2.3;
      EXPECT_LT(at((a + b) / 2), (at(a) + at(b)) / 2 * (1 + 1e-12)) << "seed " << seed << " " << a;
    }
  }
}

}  // namespace
}  // namespace headway::interval
