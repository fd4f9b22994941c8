#include "interval/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace headway::interval {
namespace {

RecordedAttempt attempt(double wall_s, double step_s, std::optional<Tier> failure) {
  RecordedAttempt out;
  out.wall_s = wall_s;
  out.failure = failure;
  for (double t = step_s; t <= wall_s; t += step_s) out.add_step(step_s);
  return out;
}

SaveCost cost(double blocking_s, double lag_s = 0) {
  SaveCost out;
  out.blocking_s = blocking_s;
  out.persist_lag_s = lag_s;
  return out;
}

Plan every(double s) {
  return {s, s};
}

TEST(Replay, LosesWhatCameAfterTheLastSave) {
  // 100 steps of 10 s, a failure at 1000: saves of 5 s after 300 s of work each time.
  const Replayed r = replay(attempt(1000, 10, Tier::process), every(300), cost(5), false);
  EXPECT_EQ(r.saves, 3u);
  EXPECT_NEAR(r.saving_s, 15, 1e-9);
  EXPECT_NEAR(r.lost_s, 1000 - 3 * 305, 1e-3);
  EXPECT_NEAR(r.waste(), (15 + 85) / 1000.0, 1e-6);
  EXPECT_EQ(r.failures, 1u);
}

TEST(Replay, AGoodEndLosesNothing) {
  const Replayed r = replay(attempt(1000, 10, std::nullopt), every(300), cost(5), false);
  EXPECT_EQ(r.lost_s, 0);
  EXPECT_EQ(r.failures, 0u);
  EXPECT_NEAR(r.saving_s, 15, 1e-9);
}

TEST(Replay, WithoutASaveEverythingIsLost) {
  EXPECT_NEAR(replay(attempt(1000, 10, Tier::node), every(2000), cost(5), false).lost_s, 1000,
              1e-3);
}

TEST(Replay, ASaveCountsOnceItIsDurable) {
  // The save at 900 + 15 is on its way when the failure comes at 1000; the one at 610 counts.
  const Replayed r = replay(attempt(1000, 10, Tier::node), every(300), cost(5, 90), false);
  EXPECT_NEAR(r.lost_s, 1000 - 610 - 5, 1e-3);
  SaveCost slow = cost(5, 700);
  slow.in_flight_max = 1;
  EXPECT_EQ(replay(attempt(1000, 10, Tier::node), every(300), slow, false).saves, 1u)
      << "one at a time, and the second is due only at 1005";
  slow.in_flight_max = 2;
  EXPECT_EQ(replay(attempt(1000, 10, Tier::node), every(300), slow, false).saves, 2u);
}

TEST(Replay, AReplicaAnswersForAProcessOnly) {
  SaveCost c = cost(5);
  c.stage_s = 1;
  const Plan plan{50, 600};
  const Replayed process = replay(attempt(1000, 10, Tier::process), plan, c, true);
  EXPECT_LT(process.lost_s, 51);
  const Replayed node = replay(attempt(1000, 10, Tier::node), plan, c, true);
  EXPECT_NEAR(node.lost_s, 1000 - node.saving_s - 600 + 12, 15);
  EXPECT_GT(node.lost_s, 350);
  EXPECT_EQ(node.saves, 1u);
}

TEST(Replay, TheCutOffStepIsLostToo) {
  const Replayed r = replay(attempt(1005, 10, Tier::process), every(10), cost(0), false);
  EXPECT_NEAR(r.lost_s, 5, 1e-3);
}

TEST(Replay, GoesOnBeyondTheRecordedSteps) {
  RecordedAttempt a = attempt(500, 10, Tier::process);
  a.wall_s = 1000;  // the other half went into saves
  const Replayed r = replay(a, every(300), cost(5), false);
  EXPECT_EQ(r.saves, 3u);
  EXPECT_NEAR(r.lost_s, 85, 1e-3);
}

TEST(Replay, EndsWhateverItIsGiven) {
  RecordedAttempt a;
  EXPECT_EQ(replay(a, every(1), cost(1), false).wall_s, 0);
  a.wall_s = 1e9;
  EXPECT_EQ(replay(a, every(1), cost(1), false).lost_s, 0) << "no step, nothing to lose";
  a.failure = Tier::node;
  a.add_step(0);
  EXPECT_NEAR(replay(a, every(1e12), cost(1), false).lost_s, 1e9, 1);
  EXPECT_NEAR(replay(a, every(0), cost(1), false).wall_s, 1e9, 1);
}

TEST(Replay, KeepsTheStepsOfALongJobWithinBounds) {
  RecordedAttempt a;
  for (int i = 0; i < 1'000'000; ++i) a.add_step(1);
  EXPECT_LE(a.steps_s.size(), RecordedAttempt::steps_max);
  double sum = 0;
  for (const float s : a.steps_s) sum += s;
  EXPECT_NEAR(sum, 1e6, 1e-6);
}

// With failures as the formula thinks of them, both say the same.
TEST(Replay, AgreesWithTheFormula) {
  constexpr std::uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  std::vector<RecordedAttempt> attempts;
  for (int i = 0; i < 3000; ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    attempts.push_back(attempt(-std::log1p(-u) * 28'800, 5, Tier::node));
  }
  SaveCost c = cost(10, 30);
  c.interference_s = 5;
  for (const double interval_s : {300.0, 929.5, 3000.0}) {
    const double formula = waste_at(interval_s, c, one_rate(3 / 86'400.0)).total();
    const double lived = replay(attempts, every(interval_s), c, false).waste();
    EXPECT_NEAR(lived / formula, 1, 0.05) << interval_s << " seed " << kSeed;
  }
}

}  // namespace
}  // namespace headway::interval
