// Which attempts detection holds on to when there are too many, and that it knows what it lacks.
#include "collector/watched_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/test_facts.h"

namespace headway::collector {
namespace {

using fleet::AttemptFacts;
using fleet::kDay;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttemptFacts on_day(std::int32_t day, std::int64_t attempt = 1) {
  return fleet::facts_by_hand(attempt, "llm", 8, fleet::kHourNs, 0, 0, day);
}

std::vector<std::string> held(const WatchedFacts& facts) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < facts.facts().size(); ++i) out.push_back(facts.job(i));
  return out;
}

// What one attempt of a short name costs, and so many.
std::size_t bytes_of(std::size_t attempts) {
  WatchedFacts one(1u << 20);
  one.put("a", on_day(kDay));
  return one.bytes() * attempts;
}

TEST(WatchedFacts, TheOldestOfTooManyAreLeftOutAndCounted) {
  WatchedFacts facts(bytes_of(2));
  for (const auto& [job, day] : {std::pair("c", 3), {"a", 1}, {"d", 4}, {"b", 2}}) {
    facts.put(job, on_day(kDay + day));
    EXPECT_LE(facts.bytes(), bytes_of(2) + bytes_of(2) / 4);
  }
  facts.keep_from(kDay);
  EXPECT_THAT(held(facts), ElementsAre("c", "d"));
  EXPECT_EQ(facts.left_out(), 2u);
}

TEST(WatchedFacts, OneThatIsToldAgainIsMissedOnce) {
  WatchedFacts facts(bytes_of(1));
  facts.put("new", on_day(kDay + 9));
  for (int i = 0; i < 3; ++i) facts.put("old", on_day(kDay));
  facts.keep_from(kDay);
  EXPECT_THAT(held(facts), ElementsAre("new"));
  EXPECT_EQ(facts.left_out(), 1u);
  // It goes on, and is the newest then.
  facts.put("old", on_day(kDay + 10));
  facts.keep_from(kDay);
  EXPECT_THAT(held(facts), ElementsAre("old"));
  EXPECT_EQ(facts.left_out(), 1u);
}

TEST(WatchedFacts, WhatLiesBeforeTheWatchedDaysIsNotMissed) {
  WatchedFacts facts(bytes_of(1));
  facts.put("a", on_day(kDay));
  facts.put("b", on_day(kDay + 1));
  facts.put("c", on_day(kDay + 2));
  EXPECT_EQ(facts.left_out(), 2u);
  facts.keep_from(kDay + 1);
  EXPECT_THAT(held(facts), ElementsAre("c"));
  EXPECT_EQ(facts.left_out(), 1u);
  facts.keep_from(kDay + 3);
  EXPECT_THAT(held(facts), IsEmpty());
  EXPECT_EQ(facts.left_out(), 0u);
  EXPECT_EQ(facts.bytes(), 0u);
}

TEST(WatchedFacts, AnAttemptIsHeldOnceAsItIsNow) {
  WatchedFacts facts(bytes_of(10));
  facts.put("a", on_day(kDay, 1));
  facts.put("a", on_day(kDay, 2));
  const std::size_t bytes = facts.bytes();
  facts.put("a", on_day(kDay + 1, 1));
  EXPECT_EQ(facts.bytes(), bytes);
  ASSERT_EQ(facts.facts().size(), 2u);
  EXPECT_EQ(facts.facts()[0].slices.back().day, kDay + 1);
  EXPECT_EQ(facts.facts()[0].job, facts.facts()[1].job);
}

// An attempt with all of a fleet's machines takes the room of many.
TEST(WatchedFacts, HostsAreCountedToo) {
  WatchedFacts facts(1u << 20);
  AttemptFacts large = on_day(kDay);
  for (int i = 0; i < 1000; ++i) large.hosts.push_back("host-" + std::to_string(i));
  facts.put("large", large);
  EXPECT_GE(facts.bytes(), bytes_of(1) + 1000 * sizeof(std::string));
}

}  // namespace
}  // namespace headway::collector
