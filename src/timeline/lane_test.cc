#include "timeline/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using test::sec;
using test::Story;
using ::testing::ElementsAre;

LaneSegment segment(double t0, double t1, Bucket bucket) {
  return {sec(t0), sec(t1), bucket};
}

TEST(Lane, FewSegmentsAreToldAsTheyAre) {
  LaneBuilder builder({sec(0), sec(10), 4});
  builder.add(sec(-5), sec(1), Bucket::init_imports);
  builder.add(sec(1), sec(2), Bucket::init_imports);
  builder.add(sec(3), sec(20), Bucket::effective);
  EXPECT_FALSE(builder.is_past(sec(9)));
  EXPECT_TRUE(builder.is_past(sec(10)));
  const Lane lane = builder.finish();
  EXPECT_TRUE(lane.exact);
  EXPECT_THAT(lane.segments,
              ElementsAre(segment(0, 2, Bucket::init_imports), segment(3, 10, Bucket::effective)));
}

TEST(Lane, ManyBecomeWhatMostOfASliceWas) {
  LaneBuilder builder({sec(0), sec(4), 4});
  for (int i = 0; i < 40; ++i) {
    const bool second = i / 10 == 1;
    builder.add(sec(i / 10.0), sec(i / 10.0 + 0.02), Bucket::wasted_data_wait);
    builder.add(sec(i / 10.0 + 0.02), sec(i / 10.0 + 0.1),
                second ? Bucket::wasted_replay : Bucket::effective);
  }
  const Lane lane = builder.finish();
  EXPECT_FALSE(lane.exact);
  EXPECT_THAT(lane.segments,
              ElementsAre(segment(0, 1, Bucket::effective), segment(1, 2, Bucket::wasted_replay),
                          segment(2, 4, Bucket::effective)));
}

// Whatever comes: inside the window, in order, no more than there are slices, and no slice is
// without what was most in it.
TEST(Lane, HoldsForAnySegments) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    LaneWindow window{static_cast<std::int64_t>(random() % 1000), 0,
                      1 + static_cast<std::uint32_t>(random() % 50)};
    window.to_ns = window.from_ns + static_cast<std::int64_t>(random() % 5000);
    LaneBuilder builder(window);
    std::int64_t t = -200;
    while (t < 6000) {
      const std::int64_t end = t + 1 + static_cast<std::int64_t>(random() % 90);
      if (random() % 5 != 0) builder.add(t, end, static_cast<Bucket>(random() % kBuckets));
      t = end;
    }
    const Lane lane = builder.finish();
    ASSERT_LE(lane.segments.size(), window.slices) << "seed 11, round " << round;
    std::int64_t last = window.from_ns;
    for (const LaneSegment& each : lane.segments) {
      ASSERT_GE(each.t0_ns, last);
      ASSERT_GT(each.t1_ns, each.t0_ns);
      last = each.t1_ns;
    }
    ASSERT_LE(last, std::max(window.to_ns, window.from_ns));
  }
}

TEST(Lane, AJobsOwnRowIsItsLedger) {
  Story story;
  story.as(1)
      .mark(0, HW_MARK_LAUNCHER_START)
      .span(1, 3, HW_PHASE_IMPORTS)
      .steps(5, 1, 1, 5)
      .span(10, 12, HW_PHASE_EVAL)
      .steps(12, 1, 6, 3)
      .exit(15);
  const JobResult job = story.tell();
  const Lane lane = ledger_lane(job.ledger, {sec(0), sec(20), 1500});
  Sums sums;
  std::int64_t last = 0;
  for (const LaneSegment& each : lane.segments) {
    EXPECT_EQ(each.t0_ns, last);
    last = each.t1_ns;
    sums[each.bucket] += each.t1_ns - each.t0_ns;
  }
  EXPECT_EQ(last, sec(15));
  EXPECT_EQ(sums, job.ledger.total().sums);
}

Lane rank_lane(const Story& story, std::int64_t high_water, bool failed, LaneWindow window) {
  RankLane lane(window, high_water, true);
  const event::JobStreams streams = story.streams();
  auto source = streams.streams.front().open();
  for (auto events = source->next(); !events.empty(); events = source->next()) {
    for (const event::Event& e : events) lane.take(e);
  }
  return lane.finish(failed);
}

TEST(RankLane, ToldByItsOwnEvents) {
  Story story;
  story.as(2)
      .span(0, 2, HW_PHASE_IMPORTS)
      .begin(3, HW_PHASE_TRAIN_MODULE_CREATION)
      .begin(3.5, HW_PHASE_RESTORE)
      .end(4, HW_PHASE_RESTORE)
      .end(5, HW_PHASE_TRAIN_MODULE_CREATION);
  story.put(6, event::EventType::step, 0, 1)
      .begin(6.5, HW_PHASE_COMPILE)
      .end(7.5, HW_PHASE_COMPILE, 1)
      .step_end(8, 1)
      .span(8, 8.5, HW_PHASE_DATA_WAIT)
      .step_end(9, 2)
      .step_end(10, 3)
      .span(10, 11, HW_PHASE_CHECKPOINT_BLOCKED)
      .begin(11, HW_PHASE_EVAL);
  const LaneWindow all{sec(0), sec(100), 1500};
  const Lane lane = rank_lane(story, 2, true, all);
  EXPECT_TRUE(lane.exact);
  EXPECT_THAT(
      lane.segments,
      ElementsAre(segment(0, 2, Bucket::init_imports), segment(2, 3, Bucket::init_other),
                  segment(3, 3.5, Bucket::init_train_module), segment(3.5, 4, Bucket::init_restore),
                  segment(4, 5, Bucket::init_train_module), segment(5, 6, Bucket::init_other),
                  segment(6, 6.5, Bucket::wasted_replay), segment(6.5, 7.5, Bucket::compile_warm),
                  segment(7.5, 8, Bucket::wasted_replay), segment(8, 8.5, Bucket::wasted_data_wait),
                  segment(8.5, 9, Bucket::wasted_replay), segment(9, 10, Bucket::effective),
                  segment(10, 11, Bucket::wasted_checkpoint_blocked)));
  // A clean end: what follows the last step is the way down.
  const Lane clean = rank_lane(story, 0, false, {sec(9), sec(100), 1500});
  EXPECT_THAT(clean.segments, ElementsAre(segment(9, 10, Bucket::effective),
                                          segment(10, 11, Bucket::shutdown_final_save)));
}

}  // namespace
}  // namespace headway::timeline
