#include "interval/tuner.h"

#include <gtest/gtest.h>

namespace headway::interval {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr double kDay = 86'400;

std::int64_t at(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

// A loop with steps of a second that does as it is told.
class Loop {
 public:
  explicit Loop(const TunerSettings& settings) : tuner(settings, 0) {}

  Decision step() {
    now_ns += kSecond;
    tuner.step_ended(now_ns, ++number);
    return tuner.should_save(now_ns, number);
  }
  void save(bool persist, double blocking_s) {
    tuner.save_started(now_ns, number, persist);
    now_ns += at(blocking_s);
    tuner.save_returned(now_ns, number);
  }
  void durable() { tuner.save_durable(now_ns, number); }
  // Steps up to the next decision to save; at most `steps_max`.
  Decision until_save(int steps_max = 1'000'000) {
    for (int i = 0; i < steps_max; ++i) {
      if (const Decision d = step(); d.stage) return d;
    }
    return {};
  }

  Tuner tuner;
  std::int64_t now_ns = 0;
  std::int64_t number = 0;
};

TunerSettings known(double blocking_s, double failures_per_day) {
  TunerSettings out;
  SaveCost cost;
  cost.blocking_s = blocking_s;
  out.earlier.cost = cost;
  out.earlier.history[Tier::node] = failures_per_day * 1000;
  out.earlier.history.seconds = 1000 * kDay;
  return out;
}

TEST(Tuner, SavesSoonToLearnWhatASaveCosts) {
  Loop loop({});
  EXPECT_EQ(loop.until_save(), (Decision{true, true}));
  EXPECT_EQ(loop.number, 60);
}

TEST(Tuner, ThenAtTheIntervalThatCostsLeast) {
  Loop loop(known(15, 3));
  EXPECT_TRUE(loop.until_save().persist);
  EXPECT_NEAR(static_cast<double>(loop.number), 929.5, 1.5);
  loop.save(true, 15);
  loop.durable();
  const std::int64_t from = loop.number;
  EXPECT_TRUE(loop.until_save().persist);
  EXPECT_NEAR(static_cast<double>(loop.number - from), 929.5, 1.5);
}

TEST(Tuner, NeverSavesAStepTwice) {
  Loop loop({});
  loop.until_save();
  EXPECT_TRUE(loop.tuner.should_save(loop.now_ns, loop.number).persist) << "asking changes nothing";
  loop.save(true, 0.1);
  loop.durable();
  EXPECT_EQ(loop.tuner.should_save(loop.now_ns + at(kDay), loop.number), Decision{});
  EXPECT_TRUE(loop.tuner.should_save(loop.now_ns + at(kDay), loop.number + 1).persist);
}

TEST(Tuner, HonoursItsBounds) {
  TunerSettings settings = known(15, 3);
  settings.bounds.max_s = 300;
  Loop often(settings);
  often.until_save();
  EXPECT_EQ(often.number, 300);
  settings.bounds = {.min_s = 2000, .max_s = 4000};
  Loop rare(settings);
  rare.until_save();
  EXPECT_EQ(rare.number, 2000);
}

TEST(Tuner, MinimumIsNeverRoundedDown) {
  TunerSettings settings = known(0.001, 3);
  settings.bounds.min_s = 10.5;
  Loop loop(settings);
  loop.until_save();
  EXPECT_EQ(loop.number, 11);
}

TEST(Tuner, WaitsForASaveThatIsOnItsWay) {
  TunerSettings settings = known(0.5, 24);  // √(2 · 3600 · 0.5) = 60 s
  settings.bounds.max_s = 600;
  Loop loop(settings);
  loop.until_save();
  EXPECT_EQ(loop.number, 60);
  loop.save(true, 0.5);
  const std::int64_t saved = loop.number;
  EXPECT_FALSE(loop.until_save(400).stage);
  loop.tuner.save_durable(loop.now_ns, saved);
  EXPECT_NEAR(loop.tuner.cost().persist_lag_s, 400, 1e-6);
  EXPECT_GE(loop.tuner.plan().persist_s, 400) << "the lag keeps saves apart from now on";

  settings.in_flight_max = 2;
  Loop two(settings);
  two.until_save();
  two.save(true, 0.5);
  EXPECT_TRUE(two.until_save(400).persist);
}

TEST(Tuner, ASaveThatNeverEndsDoesNotEndSaving) {
  TunerSettings settings = known(0.5, 24);
  settings.bounds.max_s = 600;
  Loop loop(settings);
  loop.until_save();
  loop.save(true, 0.5);
  EXPECT_TRUE(loop.until_save(700).persist);
  EXPECT_EQ(loop.number, 60 + 600);
}

TEST(Tuner, AFailedSaveIsTriedAgainSoonButNotAtOnce) {
  Loop loop(known(15, 3));
  loop.until_save();
  const std::int64_t first = loop.number;
  loop.save(true, 1);
  loop.tuner.save_failed(loop.now_ns, loop.number);
  EXPECT_TRUE(loop.until_save().persist);
  EXPECT_EQ(loop.number - first, 10) << "bounds.min_s";
}

TEST(Tuner, LearnsWhatSavesDoToSteps) {
  Loop loop({});
  for (int save = 0; save < 6; ++save) {
    ASSERT_TRUE(loop.until_save().persist);
    loop.save(true, 0.78);
    const std::int64_t saved = loop.number;
    for (int i = 0; i < 20; ++i) {  // slowed down to 2.5 s each
      loop.now_ns += at(1.5);
      loop.step();
    }
    loop.tuner.save_durable(loop.now_ns, saved);
  }
  EXPECT_NEAR(loop.tuner.cost().blocking_s, 0.78, 1e-6);
  EXPECT_NEAR(loop.tuner.cost().interference_s, 30, 0.1);
  EXPECT_NEAR(loop.tuner.cost().persist_lag_s, 50, 1e-6);
}

// The first save of a new attempt shows its blocking at once; the rest is not suddenly nothing.
TEST(Tuner, WhatIsNotSeenAgainYetIsRemembered) {
  TunerSettings settings = known(10, 3);
  settings.earlier.cost->interference_s = 20;
  settings.earlier.cost->persist_lag_s = 70;
  Loop loop(settings);
  ASSERT_TRUE(loop.until_save().persist);
  loop.save(true, 12);
  EXPECT_NEAR(loop.tuner.cost().blocking_s, 12, 1e-6);
  EXPECT_EQ(loop.tuner.cost().interference_s, 20);
  EXPECT_EQ(loop.tuner.cost().persist_lag_s, 70);
  const std::int64_t saved = loop.number;
  for (int i = 0; i < 9; ++i) loop.step();
  loop.tuner.save_durable(loop.now_ns, saved);
  loop.step();
  EXPECT_NEAR(loop.tuner.cost().interference_s, 0, 1e-6);
  EXPECT_NEAR(loop.tuner.cost().persist_lag_s, 9, 1e-6);
}

TEST(Tuner, OtherWorkInTheLoopIsNoStep) {
  Tuner tuner({}, 0);
  std::int64_t now = 0;
  for (int i = 1; i <= 20; ++i) {
    now += 10 * kSecond;
    tuner.step_ended(now, i, 9 * kSecond);
  }
  tuner.save_started(now, 20, true);
  tuner.save_returned(now + kSecond, 20);
  tuner.step_ended(now + 12 * kSecond, 21, 9 * kSecond);
  tuner.save_durable(now + 13 * kSecond, 20);
  tuner.step_ended(now + 22 * kSecond, 22, 9 * kSecond);
  EXPECT_NEAR(tuner.cost().interference_s, 1, 1e-9);  // 2 + 1 − 2 × 1
}

TEST(Tuner, MoreFailuresMoreSaves) {
  TunerSettings settings = known(15, 3);
  Tuner calm(settings, 0);
  Tuner troubled(settings, 0);
  for (int i = 0; i < 3000; ++i) troubled.failed(at(i), Tier::node);
  EXPECT_LT(troubled.plan().persist_s, calm.plan().persist_s * 0.8);
  const double before_s = calm.plan().persist_s;
  calm.step_ended(at(5000 * kDay), 1);
  EXPECT_GT(calm.plan().persist_s, before_s * 1.5) << "quiet time counts";
}

TEST(Tuner, StagesOftenAndPersistsRarelyWhereProcessesFail) {
  TunerSettings settings;
  settings.replica = true;
  settings.bounds.min_s = 10;
  SaveCost cost;
  cost.blocking_s = 0.2;
  cost.interference_s = 10;
  cost.stage_s = 0.02;
  settings.earlier.cost = cost;
  settings.earlier.history[Tier::process] = 100;
  settings.earlier.history[Tier::node] = 2;
  settings.earlier.history.seconds = 10 * kDay;
  Loop loop(settings);
  const Plan plan = loop.tuner.plan();
  EXPECT_LT(plan.stage_s, 30);
  EXPECT_GT(plan.persist_s, 1500);

  int staged = 0;
  while (true) {
    const Decision d = loop.until_save();
    ASSERT_TRUE(d.stage);
    loop.save(d.persist, d.persist ? 0.2 : 0.02);
    if (d.persist) break;
    ++staged;
  }
  EXPECT_NEAR(static_cast<double>(loop.number), plan.persist_s, plan.persist_s * 0.1);
  EXPECT_NEAR(staged, plan.persist_s / plan.stage_s, plan.persist_s / plan.stage_s * 0.15);
  EXPECT_NEAR(loop.tuner.cost().stage_s, 0.02, 1e-6);

  settings.replica = false;
  EXPECT_EQ(Tuner(settings, 0).plan().stage_s, Tuner(settings, 0).plan().persist_s);
}

TEST(Tuner, AFailureForgetsWhatWasOnItsWay) {
  Loop loop(known(15, 3));
  loop.until_save();
  loop.save(true, 15);
  loop.tuner.failed(loop.now_ns, Tier::process);
  loop.durable();  // too late: it belongs to nobody
  EXPECT_EQ(loop.tuner.rate().own()[Tier::process], 1);
  const std::int64_t from = loop.number;
  EXPECT_TRUE(loop.until_save().persist);
  EXPECT_NEAR(static_cast<double>(loop.number - from), 929.5, 2);
}

TEST(Tuner, AClockThatStandsOrGoesBackDoesNoHarm) {
  Tuner tuner(known(15, 3), at(1000));
  tuner.step_ended(at(500), 1);
  EXPECT_EQ(tuner.should_save(at(400), 1), Decision{});
  tuner.save_started(at(300), 1, true);
  tuner.save_returned(at(200), 1);
  tuner.save_durable(at(100), 1);
  tuner.save_durable(at(100), 1);
  tuner.save_returned(at(100), 77);
  EXPECT_EQ(tuner.cost().blocking_s, 0);
  EXPECT_DOUBLE_EQ(tuner.rate().own().seconds, 1000 * kDay);
}

}  // namespace
}  // namespace headway::interval
