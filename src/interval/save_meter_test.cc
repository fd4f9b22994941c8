#include "interval/save_meter.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::interval {
namespace {

// A save that blocks, then slows `slow` steps down by a half.
void one_save(SaveMeter& meter, std::int64_t id, double blocking_s, int slow) {
  meter.save_begun(id, blocking_s);
  for (int i = 0; i < slow - 1; ++i) meter.step(1.5);
  meter.save_durable(id, 1.5 * slow - 0.7);  // in the midst of a step
  meter.step(1.5);
}

void steady(SaveMeter& meter, int steps) {
  for (int i = 0; i < steps; ++i) meter.step(1);
}

TEST(SaveMeter, InterferenceLastsUntilTheSaveIsDurable) {
  SaveMeter meter;
  steady(meter, 20);
  one_save(meter, 20, 0.25, 8);
  steady(meter, 20);
  EXPECT_DOUBLE_EQ(meter.cost().blocking_s, 0.25);
  EXPECT_NEAR(meter.cost().interference_s, 8 * 0.5, 1e-9);
  EXPECT_NEAR(meter.cost().persist_lag_s, 11.3, 1e-9);
  EXPECT_NEAR(meter.cost().effective_s(), 4.25, 1e-9);
  EXPECT_EQ(meter.base_step_s(), 1.0);
  EXPECT_EQ(meter.in_flight(), 0u);
}

TEST(SaveMeter, DisturbedStepsAreNotTheBase) {
  SaveMeter meter;
  steady(meter, 10);
  for (int save = 0; save < 50; ++save) {
    one_save(meter, save, 0.2, 30);
    steady(meter, 2);
  }
  EXPECT_EQ(meter.base_step_s(), 1.0);
  EXPECT_NEAR(meter.cost().interference_s, 15, 1e-9);
}

TEST(SaveMeter, OneStrangeSaveDoesNotCount) {
  SaveMeter meter;
  steady(meter, 20);
  one_save(meter, 0, 3, 8);  // page faults
  for (int save = 1; save < 8; ++save) {
    steady(meter, 10);
    one_save(meter, save, 0.2, save == 4 ? 400 : 4);
  }
  EXPECT_NEAR(meter.cost().blocking_s, 0.2, 1e-9);
  EXPECT_NEAR(meter.cost().interference_s, 2, 1e-9);
}

TEST(SaveMeter, NoiseDoesNotLookLikeInterference) {
  SaveMeter meter;
  std::mt19937_64 random(7);
  const auto noisy = [&] { return 0.9 + 0.2 * static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int save = 0; save < 200; ++save) {
    for (int i = 0; i < 20; ++i) meter.step(noisy());
    meter.save_begun(save, 0.1);
    for (int i = 0; i < 9; ++i) meter.step(noisy());
    meter.save_durable(save, 9);
    meter.step(noisy());
  }
  EXPECT_LT(meter.cost().interference_s, 0.15) << "ten steps of ±10 % each";
}

TEST(SaveMeter, SavesOnTheirWayTogetherShareTheBlame) {
  SaveMeter meter;
  steady(meter, 20);
  meter.save_begun(1, 0.1);
  for (int i = 0; i < 4; ++i) meter.step(1.5);
  meter.save_begun(2, 0.1);
  EXPECT_EQ(meter.in_flight(), 2u);
  for (int i = 0; i < 4; ++i) meter.step(2);  // both: twice as slow
  meter.save_durable(1, 10);
  meter.save_durable(2, 5);
  EXPECT_EQ(meter.in_flight(), 0u);
  meter.step(2);
  // 4 × 0.5 alone and 5 × 1.0 together: 7 s over two saves.
  EXPECT_NEAR(meter.cost().interference_s, 3.5, 1e-9);
}

TEST(SaveMeter, WithoutABaseNothingIsClaimed) {
  SaveMeter meter;
  one_save(meter, 1, 0.5, 5);
  EXPECT_FALSE(meter.base_step_s());
  EXPECT_EQ(meter.interference_known(), 0u);
  EXPECT_DOUBLE_EQ(meter.cost().effective_s(), 0.5);
  EXPECT_EQ(meter.saves(), 1u);
}

TEST(SaveMeter, ALostSaveBlocksAndEndsThere) {
  SaveMeter meter;
  steady(meter, 10);
  meter.save_begun(1, 0.5);
  meter.step(9);
  meter.save_lost(1);
  EXPECT_EQ(meter.in_flight(), 0u);
  steady(meter, 10);
  EXPECT_EQ(meter.interference_known(), 0u);
  EXPECT_DOUBLE_EQ(meter.cost().blocking_s, 0.5);
  EXPECT_EQ(meter.base_step_s(), 1.0);
}

TEST(SaveMeter, MoreSavesThanItFollowsAreStillCounted) {
  SaveMeter meter;
  for (std::int64_t i = 0; i < 1000; ++i) meter.save_begun(i, 1);
  EXPECT_EQ(meter.in_flight(), SaveMeter::open_saves_max);
  EXPECT_EQ(meter.saves(), 1000u);
  meter.lose_all();
  EXPECT_EQ(meter.in_flight(), 0u);
}

}  // namespace
}  // namespace headway::interval
