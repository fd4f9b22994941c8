// The promises of the multi-node layer under faults, from many seeds; and that the checks notice
// when a promise is broken on purpose. A failure prints its seed; HEADWAY_SEED=N replays one.
#include "cluster/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace headway::cluster::test {
namespace {

constexpr std::uint64_t seeds = 400;
constexpr std::uint64_t seeds_full = 5'000;

std::uint64_t seeds_wanted() {
  return std::getenv("HEADWAY_TEST_FULL") != nullptr ? seeds_full : seeds;
}

SimulationPlan plan_of(std::uint64_t seed) {
  SimulationPlan plan;
  plan.seed = seed;
  plan.agents = static_cast<std::uint32_t>(1 + seed % 6);
  plan.forgetful = seed % 5 == 0 && plan.agents > 1;
  plan.max_nodes =
      plan.forgetful ? plan.agents : static_cast<std::uint32_t>(1 + seed / 6 % plan.agents);
  plan.min_nodes =
      plan.forgetful ? plan.agents : static_cast<std::uint32_t>(1 + seed / 36 % plan.max_nodes);
  return plan;
}

TEST(Simulation, PromisesHoldAndAllComesToItsEnd) {
  std::uint64_t first = 1;
  std::uint64_t last = seeds_wanted();
  if (const char* one = std::getenv("HEADWAY_SEED")) first = last = std::strtoull(one, nullptr, 10);
  SimulationResult sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const SimulationResult result = Simulation(plan_of(seed)).run();
    ASSERT_EQ(result.violation, "") << "HEADWAY_SEED=" << seed;
    ASSERT_TRUE(result.all_done) << "HEADWAY_SEED=" << seed;
    sum.events += result.events;
    sum.generations += result.generations;
    sum.drains += result.drains;
  }
  std::printf("seeds %llu to %llu: %llu events, %llu generations, %llu drains\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(last),
              static_cast<unsigned long long>(sum.events),
              static_cast<unsigned long long>(sum.generations),
              static_cast<unsigned long long>(sum.drains));
  if (first != last) {
    EXPECT_GT(sum.generations, 2 * seeds) << "too few faults to prove anything";
    EXPECT_GT(sum.drains, 0U);
  }
}

TEST(Simulation, OneSeedIsOneHistory) {
  const SimulationResult once = Simulation(plan_of(17)).run();
  const SimulationResult again = Simulation(plan_of(17)).run();
  EXPECT_EQ(once.events, again.events);
  EXPECT_EQ(once.generations, again.generations);
}

std::uint64_t violations(void (*spoil)(SimulationPlan&)) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SimulationPlan plan = plan_of(seed);
    spoil(plan);
    if (!Simulation(plan).run().violation.empty()) ++found;
  }
  return found;
}

TEST(Simulation, ANegativeMarginIsNoticed) {
  EXPECT_GT(violations([](SimulationPlan& plan) { plan.margin_ns = -4'500'000'000; }), 0U);
}

TEST(Simulation, AMemberThatIgnoresItsLeaseIsNoticed) {
  EXPECT_GT(violations([](SimulationPlan& plan) { plan.lease_ignored = true; }), 0U);
}

}  // namespace
}  // namespace headway::cluster::test
