#include "regress/watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "regress/test_fleet.h"

namespace headway::regress {
namespace {

using timeline::Bucket;

constexpr std::int32_t kLearnDays = 35;
const Component kSetup{Kind::start, Bucket::hardware_setup, {}};
const Component kTrainModule{Kind::start, Bucket::init_train_module, {}};

FleetModel small() {
  FleetModel model;
  model.seed = 4;
  model.strata = 2;
  model.attempts_per_day = 80;
  return model;
}

// A fleet that is asked about day by day.
struct Watching {
  TestFleet fleet;
  std::vector<fleet::AttemptFacts> facts;
  WatchOptions options;
  Findings findings;
  std::set<std::string> told;

  explicit Watching(const FleetModel& model) : fleet(model) {
    for (int day = 0; day < kLearnDays; ++day) fleet.add_day(facts);
  }
  void next_day() {
    fleet.add_day(facts);
    findings = watch(facts, options, fleet.now_ns() + 1);
    options.known.clear();
    for (const Regression& each : findings.regressions) {
      told.insert(each.key);
      if (each.verdict == Verdict::open) options.known.push_back(known_of(each));
    }
  }
  const Regression* find(const std::string& component) const {
    for (const auto* list : {&findings.regressions, &findings.explained}) {
      for (const Regression& each : *list) {
        if (component_name(each.component) == component) return &each;
      }
    }
    return nullptr;
  }
};

TEST(Watch, ARiseIsToldWithAllThatIsKnownOfIt) {
  FleetModel model = small();
  const std::int32_t day = model.first_day + kLearnDays + 1;
  model.changes = {{0, kSetup, day, 1.3, 1 << 30, "2.9"}};
  Watching watching(model);
  for (int i = 0; i < 4; ++i) watching.next_day();
  ASSERT_EQ(watching.findings.regressions.size(), 1u);
  const Regression& found = watching.findings.regressions[0];
  EXPECT_EQ(component_name(found.component), "hardware_setup");
  EXPECT_EQ(found.verdict, Verdict::open);
  EXPECT_EQ(found.began_day, day);
  EXPECT_EQ(found.members, std::vector{"hardware_setup|" + watching.fleet.stratum_key(0)});
  ASSERT_EQ(found.stratum.size(), 3u);
  EXPECT_EQ(found.stratum[0].second, "family0");
  EXPECT_NEAR(found.before, 60, 1);
  EXPECT_NEAR(found.after, 78, 2);
  EXPECT_NEAR(found.change_pct, 30, 3);
  EXPECT_LT(found.q_value, 1e-6);
  // Some 70 starts a day of 8 devices, 18 s each.
  EXPECT_NEAR(found.device_hours_per_day, 72 * 8 * 18 / 3600.0, 0.7);
  EXPECT_GT(found.began_ns, (day - 1) * fleet::kDayNs);
  EXPECT_LT(found.began_ns, (day + 1) * fleet::kDayNs);
  EXPECT_LT(found.began_low_ns, day * fleet::kDayNs);  // the last good one is of the day before
  EXPECT_GT(found.began_high_ns, day * fleet::kDayNs);
  EXPECT_GT(found.time_to_alert_s(), 0);
  ASSERT_FALSE(found.separates.empty());
  EXPECT_EQ(found.separates[0].field, "torch");
  EXPECT_EQ(found.separates[0].value, "2.9");
  ASSERT_EQ(found.attempts.size(), watching.options.attempts_max);
  for (const std::size_t i : found.attempts) {
    EXPECT_EQ(watching.facts[i].dimensions[0], "family0");
    EXPECT_GE(watching.facts[i].slices[0].day, day);
  }
  double sum = 0;
  for (const DipTerm& term : found.dip.terms) sum += term.delta_pct;
  EXPECT_NEAR(sum, found.dip.delta_pct, 1e-9);
  EXPECT_FALSE(found.dip.terms.empty());
}

TEST(Watch, TheKeyStaysTheSameFromDayToDay) {
  FleetModel model = small();
  const std::int32_t day = model.first_day + kLearnDays + 1;
  model.changes = {{1, kTrainModule, day, 1.08}};
  Watching watching(model);
  std::set<std::string> keys;
  std::set<std::int64_t> found_ns;
  int days_told = 0;
  for (int i = 0; i < 12; ++i) {
    watching.next_day();
    const Regression* found = watching.find("train_module_creation");
    if (found == nullptr) continue;
    ++days_told;
    EXPECT_EQ(found->verdict, Verdict::open);
    keys.insert(found->key);
    found_ns.insert(found->found_ns);
  }
  EXPECT_GE(days_told, 9);
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(found_ns.size(), 1u);
}

// It was told from few days. What more days say comes under the same key.
TEST(Watch, AFirstGuessThatWasWrongIsPutRight) {
  FleetModel model = small();
  const std::int32_t day = model.first_day + kLearnDays + 1;
  model.changes = {{0, kSetup, day, 1.3}};
  Watching watching(model);
  for (int i = 0; i < 3; ++i) watching.next_day();
  ASSERT_EQ(watching.options.known.size(), 1u);
  watching.options.known[0].began_day = day - 5;
  watching.options.known[0].low_day = day - 6;
  ASSERT_GE(watching.options.known[0].high_day, day - 1);
  for (int i = 0; i < 5; ++i) {
    watching.next_day();
    ASSERT_EQ(watching.findings.regressions.size(), 1u);
    EXPECT_EQ(watching.findings.regressions[0].verdict, Verdict::open);
    EXPECT_EQ(watching.findings.regressions[0].began_day, day);
    EXPECT_NEAR(watching.findings.regressions[0].change_pct, 30, 3);
  }
  EXPECT_EQ(watching.told.size(), 1u);
}

// Whatever there is of today, at whichever hour one looks.
TEST(Watch, ADayThatIsNotOverDoesNotCount) {
  FleetModel model = small();
  const std::int32_t day = model.first_day + kLearnDays;
  model.changes = {{0, kSetup, day, 1.05}, {1, kTrainModule, day + 2, 3}};
  Watching watching(model);
  watching.fleet.add_day(watching.facts);
  watching.fleet.add_day(watching.facts);
  const std::int64_t midnight_ns = watching.fleet.now_ns() + 1;
  const Findings at_midnight = watch(watching.facts, {}, midnight_ns);
  watching.fleet.add_day(watching.facts);  // the third, of which all is there at noon
  const Findings at_noon = watch(watching.facts, {}, midnight_ns + fleet::kDayNs / 2);
  const auto told = [](const Findings& findings) {
    std::vector<std::tuple<std::string, double, double>> out;
    for (const auto* list : {&findings.regressions, &findings.explained}) {
      for (const Regression& each : *list) {
        out.emplace_back(each.key, each.q_value, each.device_hours_per_day);
      }
    }
    return out;
  };
  EXPECT_FALSE(at_midnight.regressions.empty());
  EXPECT_EQ(told(at_noon), told(at_midnight));
  EXPECT_EQ(at_noon.series, at_midnight.series);
}

TEST(Watch, OneCauseInAllStrataIsOneAlert) {
  FleetModel model = small();
  model.strata = 4;
  for (std::size_t stratum = 0; stratum < 4; ++stratum) {
    model.changes.push_back({stratum, kSetup, model.first_day + kLearnDays + 1, 1.15});
  }
  Watching watching(model);
  for (int i = 0; i < 4; ++i) watching.next_day();
  ASSERT_EQ(watching.findings.regressions.size(), 1u);
  EXPECT_EQ(watching.findings.regressions[0].members.size(), 4u);
  EXPECT_TRUE(watching.findings.regressions[0].stratum.empty());  // they share nothing
  EXPECT_EQ(watching.told.size(), 1u);
}

TEST(Watch, WhatIsToldIsBounded) {
  FleetModel model = small();
  model.changes = {{0, kSetup, model.first_day + kLearnDays + 1, 1.5},
                   {1, kTrainModule, model.first_day + kLearnDays + 1, 1.2}};
  Watching watching(model);
  watching.options.regressions_max = 1;
  for (int i = 0; i < 3; ++i) watching.next_day();
  ASSERT_EQ(watching.findings.regressions.size(), 1u);
  EXPECT_EQ(watching.findings.regressions_left_out, 1u);
  watching.options.regressions_max = 0;  // but what is known has to be heard of again
  watching.next_day();
  EXPECT_EQ(watching.findings.regressions.size(), 1u);
}

TEST(Watch, ARegressionThatIsMendedIsGone) {
  FleetModel model = small();
  const std::int32_t day = model.first_day + kLearnDays + 1;
  model.changes = {{0, kSetup, day, 1.3, day + 4}};
  Watching watching(model);
  for (int i = 0; i < 4; ++i) watching.next_day();
  ASSERT_EQ(watching.findings.regressions.size(), 1u);
  EXPECT_EQ(watching.findings.regressions[0].verdict, Verdict::open);
  for (int i = 0; i < 2; ++i) {
    watching.next_day();
    if (watching.findings.regressions[0].verdict == Verdict::gone) break;
  }
  ASSERT_EQ(watching.findings.regressions.size(), 1u);
  EXPECT_EQ(watching.findings.regressions[0].verdict, Verdict::gone);
  EXPECT_EQ(watching.told.size(), 1u);
  watching.next_day();  // nobody passes it on any more, and it is no news
  EXPECT_TRUE(watching.findings.regressions.empty());
}

// 12 s go from one stage to another.
TEST(Watch, TimeThatMovedIsAShift) {
  FleetModel model = small();
  const std::int32_t day = model.first_day + kLearnDays + 1;
  model.changes = {{0, kSetup, day, 1.2}, {0, kTrainModule, day, 0.7}};
  Watching watching(model);
  for (int i = 0; i < 4; ++i) watching.next_day();
  EXPECT_TRUE(watching.findings.regressions.empty());
  ASSERT_NE(watching.find("hardware_setup"), nullptr);
  EXPECT_EQ(watching.find("hardware_setup")->verdict, Verdict::shift);
}

TEST(Watch, AnotherMixIsNoRegression) {
  FleetModel model = small();
  model.slow_cluster = 1.5;
  model.mix_day = model.first_day + kLearnDays + 1;
  Watching watching(model);
  for (int i = 0; i < 5; ++i) watching.next_day();
  EXPECT_TRUE(watching.findings.regressions.empty());
  ASSERT_NE(watching.find("hardware_setup"), nullptr);
  EXPECT_EQ(watching.find("hardware_setup")->verdict, Verdict::mix);
  EXPECT_EQ(watching.find("hardware_setup")->explained_by, "cluster");
}

TEST(Watch, FailuresThatBecomeMoreAreTold) {
  FleetModel model = small();
  const Component component{Kind::failures, {}, "nccl_timeout"};
  model.changes = {{1, component, model.first_day + kLearnDays + 1, 6}};
  Watching watching(model);
  for (int i = 0; i < 5; ++i) watching.next_day();
  const Regression* found = watching.find("failures:nccl_timeout");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->verdict, Verdict::open);
  EXPECT_GT(found->after, 3 * found->before);
}

TEST(Watch, ColderStartsAreTold) {
  FleetModel model = small();
  const Component component{Kind::start_often, Bucket::compile_cold, {}};
  model.changes = {{0, component, model.first_day + kLearnDays + 1, 2.5}};
  Watching watching(model);
  for (int i = 0; i < 4; ++i) watching.next_day();
  const Regression* found = watching.find("often:compile_cold");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->verdict, Verdict::open);
  EXPECT_NEAR(found->before, 30, 4);
  EXPECT_NEAR(found->after, 75, 8);
}

TEST(Watch, AWaveOfPreemptionsIsNoRegression) {
  FleetModel model = small();
  model.wave_day = model.first_day + kLearnDays + 1;
  Watching watching(model);
  for (int i = 0; i < 5; ++i) {
    watching.next_day();
    EXPECT_TRUE(watching.findings.regressions.empty());
  }
}

TEST(Watch, AKnownOneWithoutDataHasVanished) {
  FleetModel model = small();
  Watching watching(model);
  watching.options.known = {{.key = "old",
                             .members = {"eval|family=none"},
                             .began_day = model.first_day,
                             .found_ns = 1,
                             .q_value = 0.01}};
  watching.next_day();
  EXPECT_EQ(watching.findings.vanished, std::vector<std::string>{"old"});
}

// Facts come from other machines: none of them may be more than wrong.
TEST(Watch, AnyFactsAreTaken) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::int32_t today = 20'000;
    const auto some_ns = [&]() -> std::int64_t {
      switch (random() % 5) {
        case 0:
          return 0;
        case 1:
          return -static_cast<std::int64_t>(random() % fleet::kDayNs);
        case 2:
          return static_cast<std::int64_t>(random() % 1000);
        default:
          return static_cast<std::int64_t>(random() % fleet::kDayNs);
      }
    };
    const auto some_time = [&] {
      return (today - static_cast<std::int64_t>(random() % 70)) * fleet::kDayNs + some_ns();
    };
    std::vector<fleet::AttemptFacts> facts(3000);
    for (fleet::AttemptFacts& each : facts) {
      for (std::string& text : each.dimensions) text = random() % 2 == 0 ? "a" : "b";
      each.devices = static_cast<std::uint32_t>(random() % 3);
      each.begin_ns = some_time();
      each.end_ns = some_time();
      each.ending = static_cast<fleet::Ending>(random() % 3);
      for (std::size_t i = random() % 3; i > 0; --i) {
        fleet::Slice& slice = each.slices.emplace_back();
        slice.day = random() % 50 == 0 ? static_cast<std::int32_t>(random())
                                       : today - static_cast<std::int32_t>(random() % 70);
        for (std::int64_t& ns : slice.sums.ns) ns = some_ns();
        slice.failure_ns = some_ns();
      }
      if (random() % 2 == 0) {
        each.start.emplace();
        each.start->trained_ns = some_time();
        each.start->recovery = random() % 2 == 0;
        for (std::int64_t& ns : each.start->parts.ns) ns = some_ns();
      }
      if (random() % 2 == 0) {
        each.failure.emplace();
        each.failure->t_ns = some_time();
        each.failure->origin = static_cast<fleet::Origin>(1 + random() % 4);
        each.failure->lost_ns = some_ns();
      }
    }
    WatchOptions options;
    options.q_max = 1;  // all of it is looked at closely
    const Findings findings = watch(facts, options, today * fleet::kDayNs);
    EXPECT_GT(findings.series, 0u);
    for (const auto* list : {&findings.regressions, &findings.explained}) {
      for (const Regression& each : *list) {
        double sum = 0;
        for (const DipTerm& term : each.dip.terms) sum += term.delta_pct;
        EXPECT_NEAR(sum, each.dip.delta_pct, 1e-6 * (1 + std::abs(each.dip.delta_pct)));
      }
    }
  }
}

TEST(Watch, NothingIsNothing) {
  const Findings findings = watch({}, {}, 20'000 * fleet::kDayNs);
  EXPECT_TRUE(findings.regressions.empty());
  EXPECT_EQ(findings.series, 0u);
}

}  // namespace
}  // namespace headway::regress
