#include "regress/change.h"

#include <gtest/gtest.h>

#include "regress/tail.h"
#include "regress/test_series.h"

namespace headway::regress {
namespace {

std::vector<double> steps(std::size_t days, std::size_t at, double before, double after) {
  std::vector<double> out(days, before);
  for (std::size_t i = at; i < days; ++i) out[i] = after;
  return out;
}

std::vector<Change> find(const Series& series) {
  return find_changes(Evidence(series, {}), {});
}

// 30 days at 100 s, 10 at 110 s, 100 observations a day of spread 0.1: a day's error is 0.01, so
// that z = ln 1.1 / (0.01 · √(1/30 + 1/10)).
TEST(Change, AStepByHand) {
  const Series series = lengths(steps(40, 30, 100, 110));
  const auto changes = find(series);
  ASSERT_GE(changes.size(), 1u);
  EXPECT_EQ(changes[0].began_day, test_first_day + 30);
  EXPECT_EQ(changes[0].low_day, test_first_day + 30);
  EXPECT_EQ(changes[0].high_day, test_first_day + 30);
  EXPECT_NEAR(changes[0].z, std::log(1.1) / (0.01 * std::sqrt(1.0 / 30 + 1.0 / 10)), 1e-6);
  EXPECT_NEAR(changes[0].ratio(Law::log_normal), 1.1, 1e-9);
  EXPECT_LT(changes[0].p, 1e-100);
}

TEST(Change, FallsAndLaterRisesAreApart) {
  std::vector<double> days = steps(60, 20, 100, 90);
  for (std::size_t i = 45; i < 60; ++i) days[i] = 99;
  const auto changes = find(lengths(days));
  ASSERT_GE(changes.size(), 2u);
  EXPECT_EQ(changes[0].began_day, test_first_day + 20);
  EXPECT_LT(changes[0].z, 0);
  EXPECT_EQ(changes[1].began_day, test_first_day + 45);
  EXPECT_NEAR(changes[1].ratio(Law::log_normal), 1.1, 1e-9);
}

TEST(Change, ASingleBadDayIsNone) {
  std::vector<double> days(40, 100);
  days[39] = 104;  // z of about 4
  for (const Change& change : find(lengths(days))) EXPECT_LT(change.z, 3);
  days[39] = 120;
  ASSERT_FALSE(find(lengths(days)).empty());
  EXPECT_EQ(find(lengths(days)).back().began_day, test_first_day + 39);
}

TEST(Change, TooLittleHistoryAsksNothing) {
  EXPECT_TRUE(find(lengths(steps(7, 5, 100, 200))).empty());
  EXPECT_TRUE(find(Series{}).empty());
}

TEST(Change, DaysWithoutDataAreInDoubt) {
  Series series = lengths(steps(40, 30, 100, 110));
  series.cells.erase(series.cells.begin() + 28, series.cells.begin() + 32);
  const auto changes = find(series);
  ASSERT_GE(changes.size(), 1u);
  EXPECT_EQ(changes[0].low_day, test_first_day + 28);
  EXPECT_EQ(changes[0].high_day, test_first_day + 32);
}

// How often p ≤ x on a day, while nothing has changed: not more often than x.
TEST(Change, PIsARateOfNewAlarmsPerDay) {
  constexpr double x = 0.01;
  constexpr std::size_t first_asked = 40, days = 60;
  double alarms = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Series whole = noisy(days, days, 1, seed);
    bool loud = false;
    for (std::size_t day = first_asked; day < days; ++day) {
      Series series = whole;
      series.cells.resize(day);
      bool now = false;
      for (const Change& change : find(series)) now |= change.z > 0 && change.p <= x;
      alarms += now && !loud ? 1 : 0;
      asked += 1;
      loud = now;
    }
  }
  EXPECT_LT(alarms / asked, 1.3 * x);
  EXPECT_GT(alarms / asked, 0.1 * x);  // nor is it idle
}

// The interval holds the true day 95 times of 100, or a little more: days are coarse.
TEST(Change, TheDayLiesWhereItIsSaidToLie) {
  int inside = 0, found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    for (const Change& change : find(noisy(60, 45, 1.025, seed))) {
      if (change.z < 5) continue;
      ++found;
      const std::int32_t day = test_first_day + 45;
      inside += change.low_day <= day && day <= change.high_day ? 1 : 0;
    }
  }
  EXPECT_GT(found, 250);
  EXPECT_GT(inside, 0.93 * found);
}

Series counts(Kind kind, const std::vector<double>& events, double n) {
  Series out;
  out.component.kind = kind;
  for (std::size_t i = 0; i < events.size(); ++i) {
    out.cells.push_back({test_first_day + static_cast<std::int32_t>(i), n, events[i], events[i]});
  }
  return out;
}

// Deviance by hand: 30 events in 30 days, then 30 in 10, each day 1000 device-hours.
TEST(Change, FailuresByPoisson) {
  std::vector<double> events = steps(40, 30, 1, 3);
  const auto changes = find(counts(Kind::failures, events, 1000));
  ASSERT_GE(changes.size(), 1u);
  EXPECT_EQ(changes[0].began_day, test_first_day + 30);
  const double gain = 30 * std::log(1.0) + 30 * std::log(3.0) - 60 * std::log(1.5);
  const Evidence evidence(counts(Kind::failures, events, 1000), {});
  EXPECT_NEAR(evidence.z(0, 30, 40), std::sqrt(2 * gain), 1e-9);
  EXPECT_NEAR(changes[0].ratio(Law::poisson), 3, 1e-9);
}

TEST(Change, AStageThatNeverWasAppears) {
  const auto changes = find(counts(Kind::start_often, steps(40, 30, 0, 20), 100));
  ASSERT_GE(changes.size(), 1u);
  EXPECT_EQ(changes[0].began_day, test_first_day + 30);
  EXPECT_TRUE(std::isinf(changes[0].ratio(Law::binomial)));
  EXPECT_EQ(changes[0].before, 0);
}

TEST(Change, DispersedCountsAreLessSure) {
  const Series series = counts(Kind::failures, steps(40, 30, 2, 4), 1000);
  Noise noise;
  noise.dispersion = 4;
  EXPECT_NEAR(Evidence(series, {}).z(0, 30, 40), 2 * Evidence(series, noise).z(0, 30, 40), 1e-9);
}

TEST(WentAway, BackAtTheOldLevel) {
  std::vector<double> days = steps(40, 30, 100, 110);
  days[38] = days[39] = 100;
  const Series series = lengths(days);
  const Evidence evidence(series, {});
  const auto change = change_near(evidence, test_first_day + 30, 2, {});
  ASSERT_TRUE(change);
  ASSERT_TRUE(went_away(evidence, *change));
  EXPECT_EQ(*went_away(evidence, *change), 38u);
}

TEST(WentAway, StillThere) {
  const Series series = lengths(steps(40, 30, 100, 110));
  const Evidence evidence(series, {});
  const auto change = change_near(evidence, test_first_day + 30, 2, {});
  ASSERT_TRUE(change);
  EXPECT_FALSE(went_away(evidence, *change));
}

// Three days by which a small rise is first seen: by luck high ones, then one as low as before.
TEST(WentAway, OneLowDayOfASmallRiseIsNotTheEnd) {
  std::vector<double> days = steps(43, 40, 100, 103);
  days[42] = 100.6;
  const Series series = lengths(days, 200);
  const Evidence evidence(series, {});
  const auto change = change_near(evidence, test_first_day + 40, 2, {});
  ASSERT_TRUE(change);
  EXPECT_FALSE(went_away(evidence, *change));
  std::vector<double> back = steps(46, 40, 100, 103);
  for (std::size_t i = 43; i < 46; ++i) back[i] = 100;
  const Series mended = lengths(back, 200);
  const Evidence after(mended, {});
  const auto was = change_near(after, test_first_day + 40, 2, {});
  ASSERT_TRUE(was);
  EXPECT_TRUE(went_away(after, *was));
}

TEST(WentAway, HalfwayBackIsStillThere) {
  std::vector<double> days = steps(40, 30, 100, 110);
  for (std::size_t i = 35; i < 40; ++i) days[i] = 106;
  const Series series = lengths(days);
  const Evidence evidence(series, {});
  const auto change = change_near(evidence, test_first_day + 30, 2, {});
  ASSERT_TRUE(change);
  EXPECT_FALSE(went_away(evidence, *change));
}

}  // namespace
}  // namespace headway::regress
