#include "fleet/facts_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "timeline/test_stream.h"

namespace headway::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using timeline::Bucket;
using timeline::JobResult;
using timeline::test::sec;
using timeline::test::Story;

constexpr double kDayS = 86'400;

struct Told {
  JobResult job;
  std::vector<AttemptFacts> facts;
};

Told tell(Story& story) {
  Told out;
  out.job = story.tell();
  out.facts = facts_of(out.job, story.names());
  return out;
}

// Whatever the job: nothing is lost, nothing counted twice.
void expect_sums(const Told& told) {
  timeline::Account sum;
  std::int64_t queued_ns = 0;
  for (const AttemptFacts& facts : told.facts) {
    ASSERT_FALSE(facts.slices.empty());
    for (std::size_t i = 0; i < facts.slices.size(); ++i) {
      if (i > 0) {
        EXPECT_GT(facts.slices[i].day, facts.slices[i - 1].day);
      }
      sum.sums += facts.slices[i].sums;
      sum.failure_ns += facts.slices[i].failure_ns;
      queued_ns += facts.slices[i].queued_ns;
    }
  }
  EXPECT_EQ(sum.sums, told.job.ledger.total().sums);
  EXPECT_EQ(sum.failure_ns, told.job.ledger.total().failure_ns);
  EXPECT_EQ(queued_ns, told.job.outside_ns(true));
}

TEST(FactsOf, AJobThatCrossesMidnightIsSlicedThere) {
  Story story;
  const double t = 10 * kDayS - 100;
  story.as(1)
      .mark(t - 50, HW_MARK_SUBMITTED)
      .mark(t, HW_MARK_RESOURCES_AVAILABLE)
      .mark(t, HW_MARK_ALLOCATED)
      .mark(t + 10, HW_MARK_LAUNCHER_START)
      .steps(t + 60, 10, 1, 20)
      .exit(t + 260);
  const Told told = tell(story);
  expect_sums(told);
  ASSERT_EQ(told.facts.size(), 1u);
  const AttemptFacts& facts = told.facts.front();
  ASSERT_EQ(facts.slices.size(), 2u);
  EXPECT_EQ(facts.slices[0].day, 9);
  EXPECT_EQ(facts.slices[0].queued_ns, sec(50));
  EXPECT_EQ(facts.slices[0].sums[Bucket::effective], sec(40));
  EXPECT_EQ(facts.slices[1].sums[Bucket::effective], sec(160));
  EXPECT_EQ(facts.begin_ns, sec(t));
  EXPECT_EQ(facts.ending, Ending::clean);
  ASSERT_TRUE(facts.start);
  EXPECT_FALSE(facts.start->recovery);
  EXPECT_EQ(facts.start->length_ns(), sec(60));
  EXPECT_EQ(facts.start->parts[Bucket::hardware_setup], sec(10));
  EXPECT_EQ(facts.start->parts.total(), sec(60));
  EXPECT_FALSE(facts.failure);
}

TEST(FactsOf, CachesAreThoseOfTheLaunchersAllocation) {
  constexpr std::int64_t allocation = 65'536;
  Story story;
  story.as(allocation + 1)
      .attr(0, "compile_cache_pulled", "archives=2 files=9 bytes=10 ms=5")
      .attr(5, "compile_cache.0",
            "hits=3 misses=1 bypasses=2 builds=0 original_ms=9000 spent_ms=500")
      .attr(5, "compile_cache.1",
            "hits=4 misses=0 bypasses=2 builds=0 original_ms=7000 spent_ms=800")
      .fail(20)
      .exit(21);
  story.as(allocation + 2)
      .attr(30, "compile_cache.0",
            "hits=8 misses=0 bypasses=0 builds=0 original_ms=90 spent_ms=100")
      .fail(40)
      .exit(41);
  story.as(2 * allocation + 1).mark(50, HW_MARK_LAUNCHER_START).steps(60, 1, 1, 10).exit(71);
  const Told told = tell(story);
  ASSERT_EQ(told.facts.size(), 3u);
  EXPECT_EQ(told.facts[0].cache, (CacheFact{true, true, 7, 1, 4, sec(9), sec(0.8)}));
  EXPECT_EQ(told.facts[1].cache, (CacheFact{true, true, 8, 0, 0, sec(0.09), sec(0.1)}))
      << "what was unpacked is still there";
  EXPECT_FALSE(told.facts[2].cache);
}

TEST(FactsOf, ARecoveryCountsFromTheFirstFailureThatNobodyHasRecoveredFrom) {
  Story story;
  story.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(10, 1, 1, 10).fail(20.5).exit(21);
  story.as(2).mark(25, HW_MARK_LAUNCHER_START).fail(30).exit(31);  // never trains
  story.as(3).mark(35, HW_MARK_LAUNCHER_START).restore(36, 5).steps(50, 1, 6, 10).exit(61);
  const Told told = tell(story);
  expect_sums(told);
  ASSERT_EQ(told.facts.size(), 3u);
  EXPECT_FALSE(told.facts[0].start->recovery);
  EXPECT_FALSE(told.facts[1].start);
  ASSERT_TRUE(told.facts[2].start);
  EXPECT_TRUE(told.facts[2].start->recovery);
  EXPECT_EQ(told.facts[2].start->length_ns(), sec(50 - 20.5));
  EXPECT_EQ(told.facts[2].start->parts.total() + told.facts[2].start->outside_ns, sec(29.5));
  ASSERT_TRUE(told.facts[0].failure);
  EXPECT_EQ(told.facts[0].failure->time_to_recover_ns, sec(29.5));
  EXPECT_EQ(told.facts[1].failure->time_to_recover_ns, sec(20));
  EXPECT_EQ(told.facts[0].failure->unsaved_ns, sec(5));
  std::int64_t lost_ns = 0;
  for (const AttemptFacts& facts : told.facts)
    lost_ns += facts.failure ? facts.failure->lost_ns : 0;
  EXPECT_EQ(lost_ns, told.job.ledger.total().failure_ns);
}

TEST(FactsOf, UntilAJobHasTrainedItIsStarting) {
  Story story;
  story.as(1).mark(0, HW_MARK_ALLOCATED).mark(2, HW_MARK_LAUNCHER_START).fail(10).exit(11);
  story.as(2).mark(15, HW_MARK_LAUNCHER_START).steps(30, 1, 1, 10).exit(40);
  const Told told = tell(story);
  ASSERT_TRUE(told.facts[1].start);
  EXPECT_FALSE(told.facts[1].start->recovery);
  EXPECT_EQ(told.facts[1].start->length_ns(), sec(30));
}

TEST(FactsOf, WhatIsQueuedIsCountedWithWhatWasWaitedFor) {
  Story story;
  story.as(65536).mark(0, HW_MARK_LAUNCHER_START).steps(10, 1, 1, 10).fail(20).exit(20);
  story.as(131072)
      .mark(100, HW_MARK_RESOURCES_AVAILABLE)
      .mark(100, HW_MARK_ALLOCATED)
      .mark(110, HW_MARK_LAUNCHER_START)
      .steps(120, 1, 11, 10)
      .exit(130);
  const Told told = tell(story);
  expect_sums(told);
  ASSERT_EQ(told.facts.size(), 2u);
  EXPECT_EQ(told.facts[0].slices[0].queued_ns, 0);
  EXPECT_EQ(told.facts[1].slices[0].queued_ns, sec(80));
  EXPECT_EQ(told.facts[1].begin_ns, sec(100));
  EXPECT_EQ(told.facts[1].start->outside_ns, sec(80));
  EXPECT_EQ(told.facts[1].start->length_ns(), sec(100));
}

TEST(FactsOf, AttributesSayWhatAnAttemptIs) {
  Story story;
  story.as(1);
  for (const auto& [key, value] : {std::pair("family", "dlrm"),
                                   {"team", "ads"},
                                   {"devices", "64"},
                                   {"lever.cache", "1"},
                                   {"lever.replica", "off"},
                                   {"failure_category", "gpu_lost"}}) {
    story.attr(0, key, value);
  }
  story.mark(0, HW_MARK_LAUNCHER_START)
      .steps(1, 1, 1, 3)
      .fail(5, {.origin = HW_ORIGIN_INFRA})
      .exit(5);
  story.as(2).mark(6, HW_MARK_LAUNCHER_START).steps(7, 1, 4, 3).exit(10);
  const Told told = tell(story);
  ASSERT_EQ(told.facts.size(), 2u);
  const AttemptFacts& first = told.facts[0];
  EXPECT_THAT(first.dimensions, ElementsAre("dlrm", "ads", "", "", "64-511", "", "", "", ""));
  EXPECT_EQ(first.devices, 64u);
  EXPECT_THAT(first.levers, ElementsAre("cache"));
  ASSERT_TRUE(first.failure);
  EXPECT_EQ(first.failure->origin, Origin::infra);
  EXPECT_EQ(first.failure->category, "gpu_lost");
  // The second says nothing of itself: family and team are the job's; a lever is its own.
  EXPECT_EQ(told.facts[1].dimensions[0], "dlrm");
  EXPECT_THAT(told.facts[1].levers, IsEmpty());
}

TEST(FactsOf, TimesBeyondReasonStayBounded) {
  Story story;
  story.as(1).mark(-2e9, HW_MARK_LAUNCHER_START).step(-1e9, 2e9, 1).exit(2.2e9);
  const Told told = tell(story);
  EXPECT_LE(told.facts.front().slices.size(), AttemptFacts::slices_max);
  expect_sums(told);
}

}  // namespace
}  // namespace headway::fleet
