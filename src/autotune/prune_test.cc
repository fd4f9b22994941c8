#include "autotune/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace headway::autotune {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr double kFailed = std::numeric_limits<double>::infinity();

Observation tuning(std::vector<TimedConfig> configs, std::string shape = "2^10") {
  Observation one;
  one.kernel = "matmul";
  one.hardware = "cuda:80";
  one.shape_class = std::move(shape);
  one.tuning_ns = 1'000'000'000;
  one.configs = std::move(configs);
  return one;
}

KernelVerdict verdict(const std::vector<Observation>& all, double epsilon = 0.05) {
  Pruner pruner({.epsilon = epsilon});
  for (const Observation& one : all) pruner.add(one);
  const auto kernels = pruner.finish();
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.front();
}

TEST(Prune, KeepsWinnersAndWhatIsNear) {
  const auto one = tuning({{"a", 1.0}, {"b", 1.04}, {"c", 1.06}, {"d", kFailed}});
  const KernelVerdict kernel = verdict({one, one, one});
  ASSERT_EQ(kernel.classes.size(), 1u);
  const ClassVerdict& found = kernel.classes[0];
  EXPECT_THAT(found.keep, ElementsAre("a", "b"));
  EXPECT_TRUE(found.pinned);
  EXPECT_FALSE(found.contradicting);
  EXPECT_EQ(found.measured, 4u);
  EXPECT_EQ(found.saved_ns, 1'500'000'000);
  EXPECT_EQ(kernel.timed, 12u);
  EXPECT_EQ(kernel.would_time, 6u);
}

TEST(Prune, KeepsMoreOfWhatWasSeldomTuned) {
  const auto one = tuning({{"a", 1.0}, {"b", 1.04}, {"c", 1.08}, {"d", 1.18}, {"e", 1.3}});
  const auto times = [&](std::size_t n) {
    return verdict(std::vector<Observation>(n, one)).classes[0].keep;
  };
  EXPECT_THAT(times(1), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(times(2), ElementsAre("a", "b", "c"));
  EXPECT_THAT(times(3), ElementsAre("a", "b"));
  EXPECT_THAT(times(kRunsMany - 1), ElementsAre("a", "b"));
  EXPECT_THAT(times(kRunsMany), ElementsAre("a"));
}

TEST(Prune, WhatWonOnceStays) {
  std::vector<Observation> all(40, tuning({{"a", 1.0}, {"b", 1.02}, {"c", 2.0}}));
  all.push_back(tuning({{"a", 1.01}, {"b", 1.0}, {"c", 2.0}}));
  const ClassVerdict found = verdict(all).classes[0];
  EXPECT_FALSE(found.contradicting);  // a was always near the best
  EXPECT_THAT(found.keep, ElementsAre("a", "b"));
}

TEST(Prune, WhatWasSeldomNearDoesNotStay) {
  std::vector<Observation> all(4, tuning({{"a", 1.0}, {"b", 1.5}}));
  all.push_back(tuning({{"a", 1.0}, {"b", 1.01}}));
  EXPECT_THAT(verdict(all).classes[0].keep, ElementsAre("a"));
}

TEST(Prune, KeepsMoreWhereWinnersContradict) {
  const auto left = tuning({{"a", 1.0}, {"b", 2.0}, {"c", 1.04}, {"d", 1.08}, {"e", 3.0}});
  const auto right = tuning({{"a", 2.0}, {"b", 1.0}, {"c", 1.08}, {"d", 1.08}, {"e", 3.0}});
  const ClassVerdict few = verdict({left, right, left}).classes[0];
  EXPECT_TRUE(few.contradicting);
  EXPECT_THAT(few.keep, ElementsAre("a", "b", "c", "d"));
  std::vector<Observation> all(kRunsMany, left);
  all.push_back(right);
  EXPECT_THAT(verdict(all).classes[0].keep, ElementsAre("a", "b", "c"));
}

TEST(Prune, ClassesHardwareAndKernelsAreApart) {
  auto other = tuning({{"a", 2.0}, {"b", 1.0}}, "2^11");
  const KernelVerdict kernel = verdict({tuning({{"a", 1.0}, {"b", 2.0}}), other});
  ASSERT_EQ(kernel.classes.size(), 2u);
  EXPECT_THAT(kernel.classes[0].keep, ElementsAre("a"));
  EXPECT_THAT(kernel.classes[1].keep, ElementsAre("b"));
  other.source = "another";
  Pruner pruner;
  pruner.add(tuning({{"a", 1.0}}));
  pruner.add(other);
  EXPECT_EQ(pruner.finish().size(), 2u);
}

TEST(Prune, WhatWasNeverTimedHereStays) {
  const KernelVerdict kernel =
      verdict({tuning({{"a", 1.0}, {"b", 2.0}}), tuning({{"c", 1.0}}, "2^11")});
  EXPECT_THAT(kernel.classes[0].keep, ElementsAre("a", "c"));
  EXPECT_EQ(kernel.classes[0].kept_measured, 1u);
}

TEST(Prune, NothingIsPinnedWithoutHardwareClassOrWinner) {
  auto unknown = tuning({{"a", 1.0}, {"b", 2.0}});
  unknown.hardware = "";
  EXPECT_TRUE(verdict({unknown}).classes.empty());
  EXPECT_EQ(verdict({unknown}).unclassed_runs, 1u);
  EXPECT_TRUE(verdict({tuning({{"a", 1.0}}, "")}).classes.empty());
  EXPECT_FALSE(verdict({tuning({{"a", kFailed}, {"b", kFailed}})}).classes[0].pinned);
}

TEST(Prune, TuningsWithPinsTellNothingOfWhatTheyLeftOut) {
  auto pruned = tuning({{"b", 1.0}});
  pruned.pruned = true;
  EXPECT_FALSE(verdict({pruned}).classes[0].pinned);
  const ClassVerdict found = verdict({tuning({{"a", 1.0}, {"b", 2.0}}), pruned}).classes[0];
  EXPECT_EQ(found.runs, 1u);
  EXPECT_THAT(found.keep, ElementsAre("a", "b"));  // b won while pins were in use
}

TEST(Prune, TimesOfZero) {
  EXPECT_THAT(verdict({tuning({{"a", 0.0}, {"b", 0.0}, {"c", 1.0}})}).classes[0].keep,
              ElementsAre("a", "b"));
}

// For any tunings: every winner stays, and no order changes the answer.
TEST(Prune, Properties) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<Observation> all;
    for (int i = 0, n = 1 + draw(8); i < n; ++i) {
      std::vector<TimedConfig> configs;
      for (int c = 0; c < 6; ++c) {
        if (draw(5) > 0) configs.push_back({std::string(1, char('a' + c)), 1.0 + draw(50) / 50.0});
      }
      if (configs.empty()) configs.push_back({"a", 1.0});
      all.push_back(tuning(std::move(configs), draw(2) == 0 ? "x" : "y"));
    }
    const KernelVerdict kernel = verdict(all);
    const KernelVerdict wider = verdict(all, 0.2);
    for (const Observation& one : all) {
      const auto best = std::min_element(
          one.configs.begin(), one.configs.end(),
          [](const TimedConfig& a, const TimedConfig& b) { return a.time_ms < b.time_ms; });
      for (const KernelVerdict* of : {&kernel, &wider}) {
        const auto at = std::find_if(of->classes.begin(), of->classes.end(), [&](const auto& c) {
          return c.shape_class == one.shape_class;
        });
        ASSERT_NE(at, of->classes.end());
        EXPECT_THAT(at->keep, testing::Contains(best->text));
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    const KernelVerdict again = verdict(all);
    ASSERT_EQ(again.classes.size(), kernel.classes.size());
    for (std::size_t i = 0; i < again.classes.size(); ++i) {
      EXPECT_EQ(again.classes[i].keep, kernel.classes[i].keep);
    }
  }
}

}  // namespace
}  // namespace headway::autotune
