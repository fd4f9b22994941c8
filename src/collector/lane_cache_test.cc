#include "collector/lane_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::collector {
namespace {

using ::testing::ElementsAre;
using timeline::Bucket;
using timeline::LaneSegment;
using timeline::LaneWindow;

// Of [0, 100), in pieces of ten.
KeptLane lane_of(bool exact) {
  KeptLane out;
  out.basis = {.slots = 40, .high_water = 7};
  out.window = {0, 100, 10};
  out.settled_ns = 60;
  out.lane.exact = exact;
  for (int i = 0; i < 10; ++i) {
    out.lane.segments.push_back(
        {i * 10, i * 10 + 10, i % 2 == 0 ? Bucket::effective : Bucket::wasted_data_wait});
  }
  return out;
}

TEST(KeptLane, TellsWhatItHolds) {
  const KeptLane kept = lane_of(true);
  EXPECT_TRUE(kept.tells({20, 30, 1000}, kept.basis));
  EXPECT_FALSE(kept.tells({20, 101, 10}, kept.basis));
  EXPECT_FALSE(kept.tells({-1, 30, 10}, kept.basis));
  const auto lane = kept.cut({15, 35, 1000});
  EXPECT_TRUE(lane.exact);
  EXPECT_THAT(lane.segments, ElementsAre(LaneSegment{15, 20, Bucket::wasted_data_wait},
                                         LaneSegment{20, 30, Bucket::effective},
                                         LaneSegment{30, 35, Bucket::wasted_data_wait}));
}

TEST(KeptLane, WhatWasMergedTellsNothingFiner) {
  const KeptLane kept = lane_of(false);
  EXPECT_TRUE(kept.tells({0, 100, 10}, kept.basis));
  EXPECT_TRUE(kept.tells({0, 50, 5}, kept.basis));
  EXPECT_FALSE(kept.tells({0, 50, 6}, kept.basis));
  EXPECT_FALSE(kept.cut({0, 100, 10}).exact);
}

TEST(KeptLane, AJobThatGoesOnChangesOnlyItsEnd) {
  const KeptLane kept = lane_of(true);
  LaneBasis now = kept.basis;
  now.slots = 50;
  EXPECT_TRUE(kept.tells({20, 60, 10}, now));
  EXPECT_FALSE(kept.tells({20, 61, 10}, now));
  now.high_water = 8;
  EXPECT_FALSE(kept.tells({20, 60, 10}, now));
}

TEST(LaneCache, IsBoundedAndForgetsWhatWasNotUsed) {
  const auto kept = std::make_shared<KeptLane>(lane_of(true));
  LaneCache cache({.bytes_max = 3 * kept->bytes(), .lanes_of_a_rank_max = 4});
  for (std::uint32_t rank = 0; rank < 3; ++rank) cache.keep({"t", "j", 1, rank}, kept);
  EXPECT_NE(cache.find({"t", "j", 1, 0}, kept->window, kept->basis), nullptr);
  cache.keep({"t", "j", 1, 3}, kept);
  EXPECT_LE(cache.bytes(), 3 * kept->bytes());
  EXPECT_NE(cache.find({"t", "j", 1, 0}, kept->window, kept->basis), nullptr);
  EXPECT_EQ(cache.find({"t", "j", 1, 1}, kept->window, kept->basis), nullptr);
  EXPECT_EQ(cache.find({"other", "j", 1, 0}, kept->window, kept->basis), nullptr);
}

TEST(LaneCache, ANewerReadingTakesThePlaceOfTheOlder) {
  const auto old = std::make_shared<KeptLane>(lane_of(true));
  auto fresh = std::make_shared<KeptLane>(lane_of(true));
  fresh->window.to_ns = 120;
  fresh->basis.slots = 50;
  LaneCache cache;
  cache.keep({"t", "j", 1, 0}, old);
  cache.keep({"t", "j", 1, 0}, fresh);
  EXPECT_EQ(cache.bytes(), fresh->bytes());
}

TEST(LaneCache, OneReadsAtATime) {
  LaneCache cache;
  auto first = cache.try_read();
  EXPECT_TRUE(first.owns_lock());
  EXPECT_FALSE(cache.try_read().owns_lock());
  first.unlock();
  EXPECT_TRUE(cache.try_read().owns_lock());
}

}  // namespace
}  // namespace headway::collector
