#include "regress/watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

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
  watching.options.known = {{"old", {"eval|family=none"}, model.first_day, 1, 0.01}};
  watching.next_day();
  EXPECT_EQ(watching.findings.vanished, std::vector<std::string>{"old"});
}

TEST(Watch, NothingIsNothing) {
  const Findings findings = watch({}, {}, 20'000 * fleet::kDayNs);
  EXPECT_TRUE(findings.regressions.empty());
  EXPECT_EQ(findings.series, 0u);
}

}  // namespace
}  // namespace headway::regress
