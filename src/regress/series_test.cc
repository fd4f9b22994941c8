#include "regress/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "regress/test_fleet.h"

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using timeline::Bucket;

constexpr std::int64_t kSecondNs = 1'000'000'000;

AttemptFacts started(std::int32_t day, double compile_s, bool recovery = false) {
  AttemptFacts out;
  out.devices = 8;
  out.begin_ns = day * fleet::kDayNs;
  fleet::Start start;
  start.from_ns = out.begin_ns;
  start.recovery = recovery;
  start.parts[Bucket::compile_cold] = static_cast<std::int64_t>(compile_s * 1e9);
  start.trained_ns = start.from_ns + start.parts.total();
  out.start = start;
  out.slices.push_back({day, start.parts, 0, 0, 0});
  out.end_ns = start.trained_ns;
  return out;
}

const Series* find(const SeriesSet& set, const std::string& name) {
  for (const Series& each : set.series) {
    if (component_name(each.component) == name) return &each;
  }
  return nullptr;
}

TEST(Series, LengthsAreMeansOfLogarithmsByDay) {
  const std::vector<AttemptFacts> facts = {started(100, 50), started(100, 200), started(102, 80)};
  const SeriesSet set = build_series(facts, {}, 103 * fleet::kDayNs + 1);
  const Series* cold = find(set, "compile_cold");
  ASSERT_NE(cold, nullptr);
  ASSERT_EQ(cold->cells.size(), 2u);  // the day between has none
  EXPECT_EQ(cold->cells[0].day, 100);
  EXPECT_EQ(cold->cells[0].n, 2);
  EXPECT_NEAR(std::exp(cold->cells[0].value), 100, 1e-3);
  EXPECT_NEAR(cold->cells[0].device_s, 250 * 8, 1e-6);
  EXPECT_EQ(find(set, "often:compile_cold"), nullptr);  // always
}

TEST(Series, RecoveriesAreApartAndRareStagesAreCounted) {
  const std::vector<AttemptFacts> facts = {started(100, 50), started(100, 0), started(100, 0),
                                           started(101, 60, true)};
  const SeriesSet set = build_series(facts, {}, 103 * fleet::kDayNs);
  ASSERT_NE(find(set, "compile_cold"), nullptr);
  EXPECT_EQ(find(set, "compile_cold")->cells.size(), 1u);
  EXPECT_NE(find(set, "recover:compile_cold"), nullptr);
  const Series* often = find(set, "often:compile_cold");
  ASSERT_NE(often, nullptr);
  EXPECT_EQ(often->cells[0].n, 3);
  EXPECT_EQ(often->cells[0].value, 1);
}

// One job that recovers again and again on a day with cold caches is one that does.
TEST(Series, RecoveriesOfOneJobOnADayCountAsOne) {
  std::vector<AttemptFacts> facts;
  for (const double cold_s : {50.0, 200.0, 100.0}) facts.push_back(started(100, cold_s, true));
  for (AttemptFacts& each : facts) each.job = 7;
  facts.push_back(started(100, 0, true));
  facts.back().job = 8;
  facts.push_back(started(101, 0, true));
  const SeriesSet set = build_series(facts, {}, 103 * fleet::kDayNs);
  const Series* often = find(set, "recover_often:compile_cold");
  ASSERT_NE(often, nullptr);
  ASSERT_EQ(often->cells.size(), 2u);
  EXPECT_DOUBLE_EQ(often->cells[0].n, 2);
  EXPECT_DOUBLE_EQ(often->cells[0].value, 1);
  const Series* cold = find(set, "recover:compile_cold");
  ASSERT_NE(cold, nullptr);
  ASSERT_EQ(cold->cells.size(), 1u);
  EXPECT_EQ(cold->cells[0].n, 1);
  EXPECT_NEAR(std::exp(cold->cells[0].value), 100, 1e-3);
  EXPECT_NEAR(cold->cells[0].device_s, 350 * 8, 1e-6);
}

TEST(Series, SharesOfALoopCountOnDaysThatAreOver) {
  AttemptFacts facts = started(100, 10);
  facts.slices[0].sums[Bucket::effective] = 9000 * kSecondNs;
  facts.slices[0].sums[Bucket::wasted_eval] = 1000 * kSecondNs;
  const std::vector<AttemptFacts> all = {facts};
  EXPECT_EQ(find(build_series(all, {}, 101 * fleet::kDayNs - 1), "eval"), nullptr);
  const SeriesSet set = build_series(all, {}, 101 * fleet::kDayNs);
  ASSERT_NE(find(set, "eval"), nullptr);
  EXPECT_NEAR(std::exp(find(set, "eval")->cells[0].value), 0.1, 1e-6);
}

TEST(Series, FailuresPerDeviceHourPreemptionsOnlyExplain) {
  std::vector<AttemptFacts> facts = {started(100, 3600), started(100, 3600), started(100, 3600)};
  const std::array origins = {fleet::Origin::infra, fleet::Origin::preemption, fleet::Origin::user};
  for (std::size_t i = 0; i < 3; ++i) {
    facts[i].failure.emplace();
    facts[i].failure->origin = origins[i];
    facts[i].failure->category = "what";
    facts[i].failure->t_ns = facts[i].end_ns;
  }
  SeriesSet set = build_series(facts, {}, 101 * fleet::kDayNs);
  const Series* what = find(set, "failures:what");
  ASSERT_NE(what, nullptr);
  EXPECT_TRUE(what->watched);
  EXPECT_EQ(what->cells[0].value, 1);
  EXPECT_NEAR(what->cells[0].n, 24, 1e-9);
  ASSERT_NE(find(set, "failures:preemption"), nullptr);
  EXPECT_FALSE(find(set, "failures:preemption")->watched);
  SeriesOptions users;
  users.user_errors = true;
  set = build_series(facts, users, 101 * fleet::kDayNs);
  EXPECT_EQ(find(set, "failures:what")->cells[0].value, 2);
}

TEST(Series, StrataAreBoundedTheLargestFirst) {
  std::vector<AttemptFacts> facts;
  for (int i = 0; i < 5; ++i) {
    facts.push_back(started(100, 100 * (i + 1)));
    facts.back().dimensions[static_cast<std::size_t>(fleet::Dimension::family)] =
        "f" + std::to_string(i);
  }
  SeriesOptions options;
  options.strata_max = 2;
  const SeriesSet set = build_series(facts, options, 101 * fleet::kDayNs);
  ASSERT_EQ(set.strata.size(), 2u);
  EXPECT_EQ(set.strata[0].values[0], "f4");
  EXPECT_EQ(set.stratum_key(1), "family=f3,hardware=,size=");
  EXPECT_EQ(set.strata_left_out, 3u);
  options.series_max = 1;
  EXPECT_EQ(build_series(facts, options, 101 * fleet::kDayNs).series.size(), 1u);
  EXPECT_EQ(build_series(facts, options, 101 * fleet::kDayNs).series_left_out, 1u);
}

TEST(Series, TheOrderOfFactsDoesNotMatter) {
  FleetModel model;
  model.strata = 2;
  model.attempts_per_day = 20;
  TestFleet fleet(model);
  std::vector<AttemptFacts> facts;
  for (int day = 0; day < 5; ++day) fleet.add_day(facts);
  const SeriesSet a = build_series(facts, {}, fleet.now_ns() + 1);
  std::shuffle(facts.begin(), facts.end(), std::mt19937_64(3));
  const SeriesSet b = build_series(facts, {}, fleet.now_ns() + 1);
  ASSERT_EQ(a.series.size(), b.series.size());
  for (std::size_t i = 0; i < a.series.size(); ++i) {
    EXPECT_EQ(a.series[i].component, b.series[i].component);
    ASSERT_EQ(a.series[i].cells.size(), b.series[i].cells.size());
    for (std::size_t k = 0; k < a.series[i].cells.size(); ++k) {
      EXPECT_NEAR(a.series[i].cells[k].value, b.series[i].cells[k].value, 1e-9);
    }
  }
}

// One of 50 observations is a hundred times too long: a plain mean would be 9% off.
TEST(DayMeans, OutliersDoNotMoveADay) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<DayValue> values;
  for (int i = 0; i < 5000; ++i) {
    const double off = i % 50 == 0 ? std::log(100.0) : 0;
    values.push_back({i / 500, static_cast<float>(3 + 0.1 * normal(random) + off)});
  }
  double spread = 0;
  const auto cells = day_means(values, spread);
  ASSERT_EQ(cells.size(), 10u);
  for (const Cell& cell : cells) EXPECT_NEAR(cell.value, 3, 0.025);
  EXPECT_NEAR(spread, 0.1, 0.015);
}

// With one observation a day the spread can only come from neighbours.
TEST(DayMeans, SpreadOfLonelyDays) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::vector<DayValue> values;
  for (int day = 0; day < 400; ++day) {
    values.push_back({day, static_cast<float>(0.2 * normal(random))});
  }
  double spread = 0;
  EXPECT_EQ(day_means(values, spread).size(), 400u);
  EXPECT_NEAR(spread, 0.2, 0.03);
}

}  // namespace
}  // namespace headway::regress
