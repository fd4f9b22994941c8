#include "agent/hang_watch.h"

#include <gtest/gtest.h>

#include "headway/headway.h"

namespace headway::agent {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

RankState training(std::uint64_t events, std::int64_t gap_ns = kSecond / 10) {
  RankState state;
  state.reports = true;
  state.events = events;
  state.steps = 5;
  state.step_gap_max_ns = gap_ns;
  return state;
}

HangLimit fixed(std::int64_t seconds) {
  return {HangLimit::Kind::fixed, seconds * kSecond};
}

TEST(HangWatch, SilenceIsMeasuredFromTheLastChange) {
  HangWatch watch(fixed(10));
  EXPECT_FALSE(watch.look({training(1)}, 0));
  EXPECT_FALSE(watch.look({training(2)}, 8 * kSecond));
  EXPECT_FALSE(watch.look({training(2)}, 17 * kSecond));
  const auto hang = watch.look({training(2)}, 18 * kSecond);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->silent_ns, 10 * kSecond);
}

TEST(HangWatch, OneSilentRankIsEnoughAndTheLongestSilentIsNamed) {
  HangWatch watch(fixed(10));
  watch.look({training(1), training(1), training(1)}, 0);
  watch.look({training(2), training(1), training(2)}, 5 * kSecond);
  const auto hang = watch.look({training(2), training(1), training(2)}, 15 * kSecond);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->rank, 1u);
}

TEST(HangWatch, LearnsFromTheJobsOwnSteps) {
  for (const std::int64_t gap_s : {1, 30}) {
    HangWatch watch(HangLimit{});
    const RankState state = training(1, gap_s * kSecond);
    watch.look({state}, 0);
    watch.look({state}, 0);
    const std::int64_t limit_ns = std::max(10 * gap_s * kSecond, HangWatch::step_min_ns);
    EXPECT_FALSE(watch.look({state}, limit_ns - 1));
    ASSERT_TRUE(watch.look({state}, limit_ns));
  }
}

TEST(HangWatch, ALongPhaseAndTheStartHaveMoreTime) {
  HangWatch watch(HangLimit{});
  RankState saving = training(1);
  saving.phase = HW_PHASE_CHECKPOINT_BLOCKED;
  watch.look({saving}, 0);
  EXPECT_FALSE(watch.look({saving}, HangWatch::phase_min_ns - 1));
  EXPECT_TRUE(watch.look({saving}, HangWatch::phase_min_ns));

  RankState starting;
  starting.reports = true;
  starting.events = 3;
  HangWatch start(fixed(1));
  start.look({starting}, 0);
  EXPECT_FALSE(start.look({starting}, HangWatch::outside_ns - 1)) << "a fixed time is for steps";
  EXPECT_TRUE(start.look({starting}, HangWatch::outside_ns));
}

TEST(HangWatch, AfterTheLastStepThereIsTimeToPackUp) {
  HangWatch watch(fixed(1));
  RankState done = training(1);
  done.between = true;
  watch.look({done}, 0);
  EXPECT_FALSE(watch.look({done}, HangWatch::outside_ns - 1));
  EXPECT_TRUE(watch.look({done}, HangWatch::outside_ns));
}

TEST(HangWatch, WhoDoesNotReportIsNotJudgedAndOffIsOff) {
  HangWatch watch(fixed(1));
  watch.look({RankState()}, 0);
  EXPECT_FALSE(watch.look({RankState()}, 1000 * kSecond));
  HangWatch off({HangLimit::Kind::off, 0});
  off.look({training(1)}, 0);
  EXPECT_FALSE(off.look({training(1)}, 100000 * kSecond));
}

TEST(HangLimit, IsReadOrRefused) {
  EXPECT_EQ(parse_hang_limit("auto")->kind, HangLimit::Kind::learnt);
  EXPECT_EQ(parse_hang_limit("off")->kind, HangLimit::Kind::off);
  EXPECT_EQ(parse_hang_limit("0.5")->after_ns, kSecond / 2);
  EXPECT_EQ(parse_hang_limit("90s")->after_ns, 90 * kSecond);
  EXPECT_EQ(parse_hang_limit("1m")->after_ns, 60 * kSecond);
  EXPECT_EQ(parse_hang_limit("2h")->after_ns, 7200 * kSecond);
  EXPECT_EQ(parse_hang_limit("0").status().message(),
            "--hang-timeout 0: want auto, off, or a time of more than 0 and at most 1d: 600, 90s, "
            "10m");
  for (const char* bad : {"", "0", "-1", "nan", "1e9", "25h", "5w", "on"}) {
    EXPECT_FALSE(parse_hang_limit(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace headway::agent
