// One attempt, one rank: the rules of the partition, each with the smallest story that shows it.
#include <gtest/gtest.h>

#include <csignal>
#include <utility>
#include <vector>

#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using test::sec;
using test::Story;

Story started() {  // resources at 0, launched at 3, first step at 10
  Story s;
  s.mark(0, HW_MARK_RESOURCES_AVAILABLE).mark(1, HW_MARK_ALLOCATED).mark(3, HW_MARK_LAUNCHER_START);
  s.span(3, 5, HW_PHASE_IMPORTS).span(6, 7, HW_PHASE_TRAIN_MODULE_CREATION);
  s.span(9, 10, HW_PHASE_GET_FIRST_BATCH_DATA);
  return s;
}

TEST(Attempt, EveryStageOfACleanRun) {
  Story s = started();
  s.step(10, 14, 1).steps(14, 1, 2, 5).span(19, 21, HW_PHASE_CHECKPOINT_BLOCKED);
  s.span(21, 22, HW_PHASE_PUBLISH).exit(23);
  const JobResult job = s.tell();
  const Sums sums = job.ledger.total().sums;
  EXPECT_EQ(sums[Bucket::scheduling], sec(1));
  EXPECT_EQ(sums[Bucket::hardware_setup], sec(2));
  EXPECT_EQ(sums[Bucket::init_imports], sec(2));
  EXPECT_EQ(sums[Bucket::init_train_module], sec(1));
  EXPECT_EQ(sums[Bucket::init_first_batch], sec(1));
  EXPECT_EQ(sums[Bucket::init_other], sec(3));
  EXPECT_EQ(sums[Bucket::effective], sec(9));
  EXPECT_EQ(sums[Bucket::shutdown_final_save], sec(2));
  EXPECT_EQ(sums[Bucket::shutdown_publish], sec(1));
  EXPECT_EQ(sums[Bucket::shutdown_other], sec(1));
  EXPECT_EQ(sums.total(), sec(23));
  EXPECT_EQ(job.ledger.total().failure_ns, 0);
  EXPECT_EQ(job.attempts[0].first_trained_ns, sec(10));
  EXPECT_FALSE(job.running);
}

TEST(Attempt, CompilationIsCarvedOutOfTheFirstStepAndLaterIsRecompile) {
  Story s = started();
  s.put(10, event::EventType::step, 0, 1)
      .span(11, 15, HW_PHASE_COMPILE)
      .begin(15.5, HW_PHASE_COMPILE);
  s.end(16, HW_PHASE_COMPILE, 1).step_end(17, 1);
  s.put(17, event::EventType::step, 0, 2)
      .span(17.25, 17.75, HW_PHASE_COMPILE)
      .step_end(18, 2)
      .exit(18);
  const JobResult job = s.tell();
  const Sums sums = job.ledger.total().sums;
  EXPECT_EQ(sums[Bucket::compile_cold], sec(4));
  EXPECT_EQ(sums[Bucket::compile_warm], sec(0.5));
  EXPECT_EQ(sums[Bucket::wasted_recompile], sec(0.5));
  EXPECT_EQ(sums[Bucket::effective], sec(3));
  EXPECT_EQ(job.attempts[0].first_trained_ns, sec(16));
}

TEST(Attempt, CompilationInsideAStageIsCompilation) {
  Story s = started();
  s.begin(10, HW_PHASE_PRE_TRAIN).begin(11, HW_PHASE_COMPILE).span(11.5, 11.75, HW_PHASE_IMPORTS);
  s.end(12, HW_PHASE_COMPILE).end(13, HW_PHASE_PRE_TRAIN).step(13, 14, 1).exit(14);
  const Sums sums = s.tell().ledger.total().sums;
  EXPECT_EQ(sums[Bucket::compile_cold], sec(1));
  EXPECT_EQ(sums[Bucket::init_pre_train], sec(2));
  EXPECT_EQ(sums[Bucket::init_imports], sec(2));
}

TEST(Attempt, WastedSpansAreCarvedOutOfSteps) {
  Story s = started();
  s.step(10, 11, 1).span(11, 11.5, HW_PHASE_DATA_WAIT).step(11.5, 12, 2);
  s.begin(12, HW_PHASE_EVAL).span(12.5, 13, HW_PHASE_DATA_WAIT).end(14, HW_PHASE_EVAL);
  s.span(14, 14.25, HW_PHASE_CHECKPOINT_BLOCKED).step(14.25, 15, 3).exit(15);
  const Sums sums = s.tell().ledger.total().sums;
  EXPECT_EQ(sums[Bucket::wasted_data_wait], sec(0.5));
  EXPECT_EQ(sums[Bucket::wasted_eval], sec(2));
  EXPECT_EQ(sums[Bucket::wasted_checkpoint_blocked], sec(0.25));
  EXPECT_EQ(sums[Bucket::effective], sec(1 + 0.5 + 0.75));
}

TEST(Attempt, TheUsersOwnSpanIsTransparentInsideAStepAndWasteBetweenSteps) {
  Story s = started();
  const event::PhaseId forward = s.names().intern("forward");
  s.step(10, 11, 1).put(11, event::EventType::step, 0, 2).span(11, 11.5, forward).step_end(12, 2);
  s.span(12, 13, forward).step(13, 14, 3).exit(14);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_other], sec(1));
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(3));
  EXPECT_EQ(job.user_spans.at("forward"), sec(1.5));
}

TEST(Attempt, TheSameStepEndedAgainLastedUntilThen) {
  Story s = started();
  s.step(10, 11, 1).step_end(11.5, 1).step(12, 13, 2).step_end(13.5, 2).exit(13.5);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].steps, 2u);
  EXPECT_EQ(job.attempts[0].facts.anomalies.steps_backwards, 0u);
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(3.5));
}

TEST(Attempt, WithoutStepBeginsTheLoopStartsAfterTheLastStage) {
  Story s = started();
  for (int n = 1; n <= 4; ++n) s.step_end(10 + n, n);
  s.exit(14);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(4));
  EXPECT_EQ(job.attempts[0].first_trained_ns, sec(10));
}

TEST(Attempt, OnlyAllocatedIsKnown) {
  Story s;
  s.mark(2, HW_MARK_ALLOCATED).step(10, 11, 1).exit(12);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums.group(Group::launcher_init), sec(8));
  EXPECT_EQ(job.ledger.total().sums[Bucket::hardware_setup], 0);
  EXPECT_EQ(job.missing_marks, (std::vector<std::string>{"resources_available", "launcher_start"}));
}

TEST(Attempt, AStepCutOffByAFailureIsInterruptedAndTearDownIsDown) {
  Story s = started();
  s.step(10, 11, 1).put(11, event::EventType::step, 0, 2).span(11, 11.25, HW_PHASE_DATA_WAIT);
  s.fail(12.5).exit(13.5, {.exit_code = 1});
  const JobResult job = s.tell();
  const Sums sums = job.ledger.total().sums;
  EXPECT_EQ(sums[Bucket::wasted_interrupted_step], sec(1.25));
  EXPECT_EQ(sums[Bucket::wasted_data_wait], sec(0.25));
  EXPECT_EQ(sums[Bucket::down], sec(1));
  ASSERT_TRUE(job.attempts[0].failure);
  EXPECT_EQ(job.attempts[0].failure->t_ns, sec(12.5));
  EXPECT_EQ(job.attempts[0].failure->info.origin, HW_ORIGIN_UNKNOWN);
  EXPECT_EQ(job.attempts[0].failure->info.exit_code, 1);
}

// Rank 0 loses its peer and says so before the launcher has noticed that rank 1 was killed.
Story two_ranks_one_lost(event::EndInfo launchers, double noticed) {
  Story story;
  for (const std::uint32_t rank : {0u, 1u}) {
    story.as(1, rank).mark(0, HW_MARK_TRAINER_START).step(1, 2, 1);
  }
  const event::NameId reason = story.names().intern("RuntimeError: Connection reset by peer");
  story.as(1, 0).fail(2.4, {.exit_code = 1, .origin = HW_ORIGIN_USER, .rank = 0, .reason = reason});
  story.as(1, event::kAgentRank).mark(0, HW_MARK_LAUNCHER_START).fail(noticed, launchers);
  return story;
}

TEST(Attempt, WhoWasKilledIsNamedNotThePeerThatLostIt) {
  const JobResult job = two_ranks_one_lost({.signal = SIGKILL, .rank = 1}, 2.5).tell();
  ASSERT_TRUE(job.attempts[0].failure.has_value());
  const Failure& failure = *job.attempts[0].failure;
  EXPECT_EQ(failure.info.rank, 1u);
  EXPECT_EQ(failure.info.signal, SIGKILL);
  EXPECT_EQ(failure.info.reason, 0) << "the peer's story";
  EXPECT_EQ(failure.info.origin, HW_ORIGIN_UNKNOWN) << "not the script's fault";
  EXPECT_EQ(failure.t_ns, sec(2.4)) << "the first sign of it";
}

TEST(Attempt, AnExceptionIsNamedWhereTheOthersDeathDoesNotExplainIt) {
  for (const auto& [launchers, noticed] :
       std::vector<std::pair<event::EndInfo, double>>{{{.exit_code = 1, .rank = 1}, 2.5},
                                                      {{.signal = SIGABRT, .rank = 1}, 2.5},
                                                      {{.signal = SIGTERM, .rank = 0}, 2.5},
                                                      {{.signal = SIGKILL, .rank = 1}, 30}}) {
    const JobResult job = two_ranks_one_lost(launchers, noticed).tell();
    ASSERT_TRUE(job.attempts[0].failure.has_value());
    EXPECT_EQ(job.attempts[0].failure->info.rank, 0u);
    EXPECT_EQ(job.attempts[0].failure->info.exit_code, 1);
    EXPECT_NE(job.attempts[0].failure->info.reason, 0);
  }
}

TEST(Attempt, AFailureInStartUpChargesTheStageItHappenedIn) {
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START)
      .span(0, 2, HW_PHASE_IMPORTS)
      .begin(2, HW_PHASE_PROCESS_GROUP_INIT);
  s.fail(7).exit(8, {.signal = 9});
  const Sums sums = s.tell().ledger.total().sums;
  EXPECT_EQ(sums[Bucket::init_imports], sec(2));
  EXPECT_EQ(sums[Bucket::init_process_group], sec(5));
  EXPECT_EQ(sums[Bucket::down], sec(1));
}

TEST(Attempt, AHangIsBackDatedToTheLastProgress) {
  Story s = started();
  s.step(10, 11, 1).put(11, event::EventType::step, 0, 2).span(11, 11.5, HW_PHASE_DATA_WAIT);
  s.hang(100, 12, 0).fail(101).exit(102, {.signal = 9});
  const Sums sums = s.tell().ledger.total().sums;
  EXPECT_EQ(sums[Bucket::wasted_hang], sec(89));
  EXPECT_EQ(sums[Bucket::wasted_data_wait], sec(0.5));
  EXPECT_EQ(sums[Bucket::wasted_interrupted_step], sec(0.5));
  EXPECT_EQ(sums[Bucket::down], sec(1));
}

TEST(Attempt, ASlowStepThatEndsAfterTheAlarmWasNoHang) {
  Story s = started();
  s.step(10, 11, 1)
      .put(11, event::EventType::step, 0, 2)
      .hang(50, 11, 0)
      .step_end(60, 2)
      .fail(61)
      .exit(61, {.signal = 9});
  const Sums sums = s.tell().ledger.total().sums;
  EXPECT_EQ(sums[Bucket::wasted_hang], 0);
  EXPECT_EQ(sums[Bucket::effective], sec(50));
}

TEST(Attempt, AnOrderlyStopAfterANoticeIsShutdown) {
  Story s = started();
  s.step(10, 11, 1).step(11, 12, 2).mark(12, HW_MARK_PREEMPT_NOTICE);
  s.span(12, 14, HW_PHASE_CHECKPOINT_BLOCKED).exit(15);
  const JobResult job = s.tell();
  ASSERT_TRUE(job.attempts.front().failure);
  EXPECT_EQ(job.attempts.front().failure->info.origin, HW_ORIGIN_PREEMPTION);
  const Sums sums = job.ledger.total().sums;
  EXPECT_EQ(sums[Bucket::wasted_interrupted_step], 0);
  EXPECT_EQ(sums[Bucket::shutdown_final_save] + sums[Bucket::shutdown_other], sec(3));
}

TEST(Attempt, ARunningJobReachesToNow) {
  Story s = started();
  s.step(10, 11, 1).step(11, 12, 2).begin(12, HW_PHASE_CHECKPOINT_BLOCKED);
  const JobResult job = s.tell(20);
  EXPECT_TRUE(job.running);
  EXPECT_EQ(job.ledger.total().sums.total(), sec(20));
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_checkpoint_blocked], sec(8));
  EXPECT_EQ(s.tell().ledger.total().sums.total(), sec(12));  // without a clock: as far as is known
}

TEST(Attempt, ARunningJobInStartUpIsInItsStage) {
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START).begin(1, HW_PHASE_IMPORTS);
  const Sums sums = s.tell(5).ledger.total().sums;
  EXPECT_EQ(sums[Bucket::init_imports], sec(4));
  EXPECT_EQ(sums[Bucket::init_other], sec(1));
}

TEST(Attempt, WhileTheTrainingLaneJoinsTheFirstOpenStageIsCharged) {
  Story s;
  s.mark(0, HW_MARK_LAUNCHER_START);
  s.begin(1, HW_PHASE_PREPROC_CREATION, 1).begin(2, HW_PHASE_TRAIN_MODULE_CREATION, 2);
  s.begin(3, HW_PHASE_JOIN).end(5, HW_PHASE_PREPROC_CREATION, 0, 1);
  s.end(6, HW_PHASE_TRAIN_MODULE_CREATION, 0, 2).end(7, HW_PHASE_JOIN).step(7, 8, 1).exit(8);
  const Sums sums = s.tell().ledger.total().sums;
  EXPECT_EQ(sums[Bucket::init_preproc], sec(2));
  EXPECT_EQ(sums[Bucket::init_train_module], sec(1));
  EXPECT_EQ(sums[Bucket::init_other], sec(4));
}

TEST(Attempt, OtherLanesDoNotChargeTheTrainingThread) {
  Story s = started();
  s.step(10, 11, 1).begin(11, HW_PHASE_CHECKPOINT_BLOCKED, 3).step(11, 15, 2);
  s.end(15, HW_PHASE_CHECKPOINT_BLOCKED, 0, 3).exit(15);
  EXPECT_EQ(s.tell().ledger.total().sums[Bucket::effective], sec(5));
}

TEST(Attempt, OnADeviceTheStepEndsWhenTheDeviceDoes) {
  Story s = started();
  // The host is ahead: it waits for data while the device still works on step 1 until 14.
  s.step(10, 11, 1).span(11, 13, HW_PHASE_DATA_WAIT).step(13, 13.5, 2).device_done(14, 1);
  // Device idle from 16: only that part of the wait is charged.
  s.begin(15, HW_PHASE_DATA_WAIT).device_done(16, 2).end(18, HW_PHASE_DATA_WAIT);
  s.step(18, 18.5, 3).device_done(20, 3).exit(20);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].steps, 3u);
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_data_wait], sec(2));
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(8));
  EXPECT_EQ(job.attempts[0].facts.anomalies.device_times_missing, 0u);
}

TEST(Attempt, DeviceTimesThatNeverComeAreCounted) {
  Story s = started();
  s.device_done(9, 0);
  for (int n = 1; n <= 200; ++n) s.step(10 + n, 11 + n, n);
  s.exit(212);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].steps, 200u);
  EXPECT_EQ(job.attempts[0].facts.anomalies.device_times_missing, 200u);
}

// A thread that had to wait between its look at the clock and its place in the journal.
TEST(Attempt, OnlyTheOrderOfOneThreadMeansAnything) {
  Story s = started();
  s.step(10, 11, 1).put(10.9, event::EventType::checkpoint, HW_CHECKPOINT_DURABLE, 1, 0, 1);
  s.begin(11, HW_PHASE_EVAL).span(10.5, 10.6, HW_PHASE_JOIN, 2).end(12, HW_PHASE_EVAL);
  s.span(12.5, 12.6, HW_PHASE_JOIN, 2).step(12.1, 13, 2).exit(14);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].facts.anomalies.total(), 0u);
  EXPECT_EQ(job.ledger.total().sums.total(), sec(14));
}

TEST(Attempt, NonsenseIsCountedAndTheSumHolds) {
  Story s = started();
  s.end(10, HW_PHASE_EVAL).step(10, 11, 1).put(9, event::EventType::step_end, 0, 2);
  s.begin(12, HW_PHASE_EVAL).begin(12.5, HW_PHASE_DATA_WAIT).end(13, HW_PHASE_EVAL);
  for (int i = 0; i < 100; ++i) s.begin(13, HW_PHASE_DATA_WAIT);
  s.step(14, 15, 1).exit(16);
  const JobResult job = s.tell();
  const Anomalies& a = job.attempts[0].facts.anomalies;
  EXPECT_EQ(a.unmatched_ends, 1u);
  EXPECT_EQ(a.out_of_order, 1u);
  EXPECT_EQ(a.unclosed_spans, 1u);
  EXPECT_EQ(a.too_deep, 36u);
  EXPECT_EQ(a.steps_backwards, 1u);
  EXPECT_EQ(job.ledger.total().sums.total(), sec(16));
}

}  // namespace
}  // namespace headway::timeline
