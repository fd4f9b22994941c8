// Stories in which other goodput libraries are known to be wrong, with the right answer.
#include <gtest/gtest.h>

#include "metrics/report.h"
#include "timeline/test_stream.h"

namespace headway::metrics {
namespace {

using timeline::Bucket;
using timeline::test::sec;
using timeline::test::Story;

Report report_of(const Story& s) {
  const event::JobStreams streams = s.streams();
  return make_report(timeline::attribute_job(streams, {}), streams);
}

// A restart that resumes exactly at the next step leaves no trace in the step numbers: 30 s of work
// and a 1000 s outage were called 99.5% goodput.
TEST(Scenario, AZeroLossRestartIsNotInvisible) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(10, 1, 1, 15).fail(25).exit(25, {.signal = 9});
  s.as(2).mark(1025, HW_MARK_LAUNCHER_START).restore(1026, 15).steps(1041, 1, 16, 15).exit(1056);
  const Report r = report_of(s);
  EXPECT_NEAR(r.ett_pct, 100.0 * 30 / 1056, 1e-9);  // 2.84%
  EXPECT_EQ(r.sums[Bucket::down], sec(1000));
  EXPECT_EQ(r.sums[Bucket::wasted_replay], 0);
  EXPECT_EQ(r.failures, 1u);
  EXPECT_EQ(r.unsaved_ns, 0);
}

// Three restarts before the first step were counted as one disruption.
TEST(Scenario, ACrashLoopBeforeTheFirstStepCountsEveryCrash) {
  Story s;
  for (int a = 1; a <= 3; ++a) {
    s.as(a).mark(a * 60, HW_MARK_LAUNCHER_START).span(a * 60, a * 60 + 20, HW_PHASE_IMPORTS);
    s.fail(a * 60 + 30).exit(a * 60 + 31, {.exit_code = 1});
  }
  s.as(4).mark(240, HW_MARK_LAUNCHER_START).steps(260, 1, 1, 100).exit(360);
  const Report r = report_of(s);
  EXPECT_EQ(r.failures, 3u);
  EXPECT_EQ(r.time_to_recover_ns, (std::vector<std::int64_t>{sec(170), sec(110), sec(50)}));
  EXPECT_NEAR(r.ett_pct, 100.0 * 100 / 300, 1e-9);
}

// One step with 600 s of compilation in it was called 98.4% goodput.
TEST(Scenario, ASegmentOfOneStepWithALongCompileIsMostlyCompilation) {
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START).span(0, 10, HW_PHASE_IMPORTS);
  s.put(10, event::EventType::step, 0, 1)
      .span(10, 610, HW_PHASE_COMPILE)
      .step_end(611, 1)
      .exit(612);
  const Report r = report_of(s);
  EXPECT_NEAR(r.ett_pct, 100.0 * 1 / 612, 1e-9);
  EXPECT_EQ(r.sums[Bucket::compile_cold], sec(600));
  EXPECT_EQ(r.time_to_start_ns, sec(610));
}

// A checkpoint inside work that was later discarded was subtracted twice.
TEST(Scenario, ACheckpointInDiscardedWorkIsCountedOnce) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 10).durable(10, 10);
  s.span(10, 14, HW_PHASE_CHECKPOINT_BLOCKED).steps(14, 1, 11, 5);
  // A save that never became durable, inside what is lost.
  s.span(19, 23, HW_PHASE_CHECKPOINT_BLOCKED).steps(23, 1, 16, 2).fail(25).exit(25, {.signal = 9});
  s.as(2).mark(25, HW_MARK_LAUNCHER_START).restore(26, 10).steps(27, 1, 11, 10).exit(37);
  const Report r = report_of(s);
  EXPECT_EQ(r.sums[Bucket::wasted_checkpoint_blocked], sec(8));
  EXPECT_EQ(r.sums[Bucket::wasted_replay], sec(7));
  EXPECT_EQ(r.sums[Bucket::effective], sec(17 + 3));
  EXPECT_EQ(r.wall_ns, sec(37));
  EXPECT_EQ(r.unsaved_ns, sec(7));
}

// Data-loading time from before a disruption was added again at each later one.
TEST(Scenario, DataLoadingIsNotAddedAgainAtEachDisruption) {
  Story s;
  double t = 0;
  for (int a = 1; a <= 5; ++a) {
    s.as(a).mark(t, HW_MARK_LAUNCHER_START).span(t, t + 1, HW_PHASE_GET_FIRST_BATCH_DATA);
    s.step(t + 1, t + 2, a * 10)
        .span(t + 2, t + 3, HW_PHASE_DATA_WAIT)
        .step(t + 3, t + 4, a * 10 + 1);
    s.fail(t + 4).exit(t + 4, {.signal = 9});
    t += 4;
  }
  const Report r = report_of(s);
  EXPECT_EQ(r.sums[Bucket::wasted_data_wait], sec(5));
  EXPECT_EQ(r.sums[Bucket::init_first_batch], sec(5));
  EXPECT_EQ(r.sums[Bucket::effective], sec(10));
  EXPECT_EQ(r.wall_ns, sec(20));
}

// Only rank 0 was looked at: a slow rank 1 in process_group_init showed as rank 0's wait.
TEST(Scenario, TheRankThatHeldUpTheGroupIsNamed) {
  Story s;
  s.as(1, 0)
      .mark(0, HW_MARK_LAUNCHER_START)
      .span(0, 2, HW_PHASE_IMPORTS)
      .span(2, 62, HW_PHASE_PROCESS_GROUP_INIT)
      .steps(63, 1, 1, 10)
      .exit(73);
  s.as(1, 1)
      .span(0, 61, HW_PHASE_IMPORTS)
      .span(61, 62, HW_PHASE_PROCESS_GROUP_INIT)
      .steps(63, 1, 1, 10)
      .exit(73);
  const Report r = report_of(s);
  EXPECT_EQ(r.sums[Bucket::init_imports], sec(61));
  EXPECT_EQ(r.sums[Bucket::init_process_group], sec(1));
  ASSERT_FALSE(r.critical_stages.empty());
  EXPECT_EQ(r.critical_stages[0].stage, "imports");
  EXPECT_EQ(r.critical_stages[0].rank, 1u);
}

}  // namespace
}  // namespace headway::metrics
