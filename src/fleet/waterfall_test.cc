#include "fleet/waterfall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "fleet/rollup.h"
#include "fleet/test_facts.h"

namespace headway::fleet {
namespace {

using Kind = WaterfallStep::Kind;
using timeline::Bucket;

Selection days(std::int32_t from, std::int32_t to) {
  Selection selection;
  selection.from_day = kDay + from;
  selection.to_day = kDay + to;
  return selection;
}

const WaterfallStep& step(const Waterfall& found, std::string_view name) {
  const auto each = std::ranges::find(found.steps, name, &WaterfallStep::name);
  EXPECT_NE(each, found.steps.end()) << name;
  return *each;
}

void expect_adds_up(const Waterfall& found) {
  ASSERT_TRUE(found.a.doubt.value && found.b.doubt.value);
  double sum = *found.a.doubt.value;
  for (const WaterfallStep& each : found.steps) {
    sum += each.delta;
    EXPECT_TRUE(std::isfinite(each.delta)) << each.name;
    if (each.low) {
      EXPECT_LE(*each.low, each.delta);
      EXPECT_GE(*each.high, each.delta);
    }
  }
  EXPECT_NEAR(sum, *found.b.doubt.value, 1e-9 * (1 + std::abs(sum)));
}

TEST(Waterfall, StepsAlwaysAddUp) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const auto snapshot = snapshot_of(made_jobs(seed, 20 + random() % 500));
    for (const auto metric : {WaterfallMetric::time_to_start_s, WaterfallMetric::ett_pct}) {
      for (const auto split : {WaterfallSplit::component, WaterfallSplit::lever}) {
        Selection a = days(0, static_cast<std::int32_t>(5 + random() % 60));
        Selection b = days(static_cast<std::int32_t>(random() % 60), 90);
        a.weight = random() % 2 == 0 ? Weight::device : Weight::job;
        b.weight = a.weight;
        if (random() % 3 == 0) b.where = {{Dimension::hardware, "h100"}};
        expect_adds_up(waterfall(*snapshot, metric, split, a, b));
      }
    }
  }
}

TEST(Waterfall, EndsAreTheRollups) {
  const auto snapshot = snapshot_of(made_jobs(50, 900));
  for (const Weight weight : {Weight::device, Weight::job}) {
    Selection a = days(0, 40), b = days(40, 90);
    a.weight = b.weight = weight;
    const RollupGroup before = roll_up(*snapshot, a, {}).total,
                      after = roll_up(*snapshot, b, {}).total;
    for (const auto split : {WaterfallSplit::component, WaterfallSplit::lever}) {
      const Waterfall ett = waterfall(*snapshot, WaterfallMetric::ett_pct, split, a, b);
      EXPECT_NEAR(*ett.a.doubt.value, *before.ett_pct.value, 1e-9);
      EXPECT_NEAR(*ett.b.doubt.value, *after.ett_pct.value, 1e-9);
      EXPECT_EQ(ett.a.count, before.attempts);
      const Waterfall start = waterfall(*snapshot, WaterfallMetric::time_to_start_s, split, a, b);
      EXPECT_NEAR(*start.a.doubt.value, *before.time_to_start->mean_s.value, 1e-6);
      EXPECT_NEAR(*start.b.doubt.value, *after.time_to_start->mean_s.value, 1e-6);
      EXPECT_EQ(start.b.count, after.time_to_start->count);
      EXPECT_TRUE(start.b.doubt.low);
    }
  }
}

// A job on one day, with a start of these parts.
void add_start(FleetTable& table, const std::string& job, std::int32_t day,
               const std::string& family, const std::vector<std::string>& levers,
               std::vector<std::pair<Bucket, double>> parts) {
  AttemptFacts facts = facts_by_hand(1, family, 8, kHourNs, 0, 0, kDay + day);
  facts.levers = levers;
  Start start;
  start.from_ns = facts.begin_ns;
  for (const auto& [bucket, seconds] : parts) {
    start.parts[bucket] = static_cast<std::int64_t>(seconds * 1e9);
  }
  start.trained_ns = start.from_ns + start.parts.total();
  facts.start = start;
  table.upsert(job, facts);
}

TEST(Waterfall, ComponentsByHand) {
  FleetTable table;
  add_start(table, "a1", 0, "f", {}, {{Bucket::compile_cold, 100}, {Bucket::init_imports, 10}});
  add_start(table, "a2", 0, "f", {}, {{Bucket::compile_cold, 200}, {Bucket::init_imports, 10}});
  add_start(table, "b1", 1, "f", {}, {{Bucket::compile_warm, 40}, {Bucket::init_imports, 12}});
  const Waterfall found = waterfall(*table.snapshot(), WaterfallMetric::time_to_start_s,
                                    WaterfallSplit::component, days(0, 1), days(1, 2));
  EXPECT_DOUBLE_EQ(*found.a.doubt.value, 160);
  EXPECT_DOUBLE_EQ(*found.b.doubt.value, 52);
  EXPECT_EQ(found.a.count, 2u);
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_NEAR(step(found, "compile_cold").delta, -150, 1e-9);
  EXPECT_EQ(step(found, "compile_cold").kind, Kind::vanished);
  EXPECT_NEAR(step(found, "compile_warm").delta, 40, 1e-9);
  EXPECT_EQ(step(found, "compile_warm").kind, Kind::appeared);
  EXPECT_NEAR(step(found, "imports").delta, 2, 1e-9);
  EXPECT_EQ(step(found, "imports").kind, Kind::component);
  EXPECT_FALSE(step(found, "imports").low);  // one job is a whole side
}

TEST(Waterfall, NothingToCompare) {
  FleetTable table;
  add_start(table, "a", 0, "f", {}, {{Bucket::compile_cold, 100}});
  for (const auto split : {WaterfallSplit::component, WaterfallSplit::lever}) {
    const Waterfall found = waterfall(*table.snapshot(), WaterfallMetric::time_to_start_s, split,
                                      days(0, 1), days(1, 2));
    EXPECT_TRUE(found.steps.empty());
    EXPECT_FALSE(found.b.doubt.value);
    EXPECT_EQ(found.a.count, 1u);
    EXPECT_EQ(found.b.count, 0u);
  }
}

// Two families, of which the slow one takes up the lever; a shift of 5% for everybody; the mix
// moves to the slow one; a third family is new.
struct Truth {
  double lever_effect = -0.4;  // of the stratum's mean
  double shift = 0.95;
};
std::shared_ptr<const Snapshot> adoption(std::uint64_t seed, int jobs, const Truth& truth,
                                         bool at_once) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  FleetTable table;
  for (int i = 0; i < jobs; ++i) {
    const bool after = i % 2 == 1;
    const double p = uniform(random);
    const std::string family = p < (after ? 0.5 : 0.3) ? "slow"
                               : after && p > 0.9      ? "new"
                                                       : "quick";
    const double base = family == "slow" ? 400 : family == "new" ? 50 : 100;
    const double adopted = at_once ? (after ? 1 : 0) : after ? 0.7 : 0.1;
    const bool on = uniform(random) < adopted;
    const bool idle_lever = uniform(random) < (after ? 0.6 : 0.3);  // does nothing
    double seconds = base * std::exp(0.2 * normal(random) - 0.02);
    if (on) seconds *= 1 + truth.lever_effect;
    if (after) seconds *= truth.shift;
    std::vector<std::string> levers;
    if (on) levers.emplace_back("cache");
    if (idle_lever) levers.emplace_back("placebo");
    add_start(table, "job-" + std::to_string(i), after ? 40 : 10, family, levers,
              {{Bucket::compile_cold, seconds}});
  }
  return table.snapshot();
}

TEST(Waterfall, LeversGetWhatTheyDid) {
  constexpr std::uint64_t seed = 60;
  const auto snapshot = adoption(seed, 40'000, {}, false);
  const Waterfall found = waterfall(*snapshot, WaterfallMetric::time_to_start_s,
                                    WaterfallSplit::lever, days(0, 30), days(30, 60));
  expect_adds_up(found);
  // Shares of slow and quick: 0.3 and 0.7 before, 0.5 and 0.4 after. What adopting six in ten more
  // does, at the mean of both periods.
  const double mean_a = 1 - 0.4 * 0.1, mean_b = (1 - 0.4 * 0.7) * 0.95;
  const double middle_slow = 400 * (0.3 * mean_a + 0.5 * mean_b) / 0.8;
  const double middle_quick = 100 * (0.7 * mean_a + 0.4 * mean_b) / 1.1;
  const double effect =
      step(found, "cache").delta / (0.6 * (0.4 * middle_slow + 0.55 * middle_quick));
  EXPECT_NEAR(effect, -0.4 / ((mean_a + mean_b) / 2), 0.04);
  EXPECT_LT(*step(found, "cache").high, 0);
  EXPECT_LE(*step(found, "placebo").low, 0.5);
  EXPECT_GE(*step(found, "placebo").high, -0.5);
  EXPECT_NEAR(step(found, "placebo").delta, 0, 1.5);
  // More of the slow ones; the shift of 5% is left for other changes.
  EXPECT_GT(*step(found, "mix").low, 10);
  EXPECT_LT(*step(found, "appeared").high, 0);
  EXPECT_NEAR(step(found, "other").delta, -0.05 * (0.4 * 400 + 0.55 * 100) * 0.84, 4);
  EXPECT_LT(*step(found, "other").high, 0);
  EXPECT_EQ(step(found, "cache").label, "cache");
}

TEST(Waterfall, ALeverThrownEverywhereAtOnceHasItAllAndSaysSo) {
  const auto snapshot = adoption(61, 4000, {}, true);
  const Waterfall found = waterfall(*snapshot, WaterfallMetric::time_to_start_s,
                                    WaterfallSplit::lever, days(0, 30), days(30, 60));
  expect_adds_up(found);
  EXPECT_NE(step(found, "cache").label, "cache");
  EXPECT_EQ(step(found, "placebo").label, "placebo");
  const double within =
      step(found, "cache").delta + step(found, "other").delta + step(found, "placebo").delta;
  EXPECT_NEAR(step(found, "cache").delta, within, std::abs(within) * 0.1);
}

TEST(Waterfall, IntervalsOfALeverHoldItsEffect) {
  constexpr int rounds = 300;
  constexpr std::uint64_t seed = 7000;
  // The truth is that of a fleet so large that chance does not matter.
  const auto large = adoption(seed, 120'000, {}, false);
  const auto of = [](const Snapshot& snapshot) {
    return waterfall(snapshot, WaterfallMetric::time_to_start_s, WaterfallSplit::lever, days(0, 30),
                     days(30, 60));
  };
  const Waterfall truth = of(*large);
  std::array<int, 4> held{};
  const std::array<const char*, 4> names = {"cache", "placebo", "mix", "other"};
  for (int round = 1; round <= rounds; ++round) {
    const Waterfall found = of(*adoption(seed + static_cast<std::uint64_t>(round), 300, {}, false));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const WaterfallStep& each = step(found, names[i]);
      const double wanted = step(truth, names[i]).delta;
      held[i] += *each.low <= wanted && wanted <= *each.high ? 1 : 0;
    }
  }
  std::printf("seed %lu: of %d held cache %d, placebo %d, mix %d, other %d\n", seed, rounds,
              held[0], held[1], held[2], held[3]);
  for (const int each : held) EXPECT_GE(each, rounds * 90 / 100);
}

TEST(Waterfall, TheOrderOfArrivalDoesNotShow) {
  std::vector<MadeJob> jobs = made_jobs(51, 300);
  const auto first = snapshot_of(jobs);
  std::mt19937_64 random(2);
  std::ranges::shuffle(jobs, random);
  const auto second = snapshot_of(jobs);
  for (const auto split : {WaterfallSplit::component, WaterfallSplit::lever}) {
    const Waterfall a =
        waterfall(*first, WaterfallMetric::ett_pct, split, days(0, 45), days(45, 90));
    const Waterfall b =
        waterfall(*second, WaterfallMetric::ett_pct, split, days(0, 45), days(45, 90));
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (const WaterfallStep& each : a.steps) {
      EXPECT_NEAR(each.delta, step(b, each.name).delta, 1e-6) << each.name;
      EXPECT_NEAR(*each.low, *step(b, each.name).low, 1e-6) << each.name;
    }
  }
}

TEST(Waterfall, Names) {
  EXPECT_EQ(waterfall_metric_of("ett_pct"), WaterfallMetric::ett_pct);
  EXPECT_FALSE(waterfall_metric_of("ett"));
  EXPECT_EQ(waterfall_split_of("lever"), WaterfallSplit::lever);
  EXPECT_FALSE(waterfall_split_of(""));
  EXPECT_EQ(step_kind_name(Kind::vanished), "vanished");
}

}  // namespace
}  // namespace headway::fleet
