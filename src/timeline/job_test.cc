// Several attempts: failures, replay, recovery, queues, overlap.
#include <gtest/gtest.h>

#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using test::sec;
using test::Story;

TEST(Job, ReplayIsWasteUpToTheHighWaterMark) {
  Story s;
  s.as(1)
      .mark(0, HW_MARK_ALLOCATED)
      .mark(0, HW_MARK_LAUNCHER_START)
      .steps(2, 1, 1, 10)
      .durable(7.5, 5);
  s.fail(12.5).exit(13, {.signal = 9});
  s.as(2).mark(14, HW_MARK_LAUNCHER_START).restore(15, 5).span(15, 16, HW_PHASE_IMPORTS);
  s.steps(16, 1, 6, 10).exit(26);
  const JobResult job = s.tell();
  const Account total = job.ledger.total();
  EXPECT_EQ(total.sums[Bucket::wasted_replay], sec(5));
  EXPECT_EQ(total.sums[Bucket::effective], sec(10 + 5));
  EXPECT_EQ(total.sums[Bucket::down], sec(0.5 + 1));
  EXPECT_EQ(total.sums[Bucket::wasted_interrupted_step], sec(0.5));
  EXPECT_EQ(job.unsaved_ns, sec(5));
  EXPECT_EQ(job.attempts[1].replayed_steps, 5u);
  // down 1.5 + start-up of the second attempt 2 + replay 5 + interrupted 0.5
  EXPECT_EQ(total.failure_ns, sec(9));
  EXPECT_EQ(job.attempts[1].first_trained_ns, sec(16));
  EXPECT_EQ(job.attempts[1].first_effective_ns, sec(21));
}

TEST(Job, ReplayIsJudgedByDataNotByStepNumbers) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START);
  for (int n = 1; n <= 10; ++n) s.step(n, n + 1, n, n * 100);
  s.fail(11.5).exit(12, {.signal = 9});
  // Half the batch after the restart: step 11 … consume 50 each, from 500.
  s.as(2).mark(12, HW_MARK_LAUNCHER_START).restore(12, 5, 500);
  for (int n = 0; n < 12; ++n) s.step(13 + n, 14 + n, 6 + n, 550 + n * 50);
  s.exit(25);
  const JobResult job = s.tell();
  EXPECT_FALSE(job.used_step_numbers);
  EXPECT_EQ(job.attempts[1].replayed_steps, 10u);  // 550 … 1000
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_replay], sec(10));
}

TEST(Job, AStepThatStraddlesTheMarkIsEffective) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).step(0, 1, 1, 100).fail(1).exit(1, {.signal = 9});
  s.as(2).mark(1, HW_MARK_LAUNCHER_START).step(1, 2, 1, 80).step(2, 3, 2, 160).exit(3);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_replay], sec(1));
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(2));
}

TEST(Job, OneStepWithoutDataMakesStepNumbersServeForAll) {
  Story s;
  s.as(1)
      .mark(0, HW_MARK_LAUNCHER_START)
      .step(0, 1, 1, 1000)
      .step(1, 2, 2, 2000)
      .fail(2)
      .exit(2, {.signal = 9});
  s.as(2).mark(2, HW_MARK_LAUNCHER_START).step(2, 3, 2).step(3, 4, 3).exit(4);
  const JobResult job = s.tell();
  EXPECT_TRUE(job.used_step_numbers);
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_replay], sec(1));
}

TEST(Job, ACrashLoopIsAsManyFailuresAsThereWere) {
  Story s;
  for (int a = 1; a <= 3; ++a) {
    s.as(a).mark(a * 10, HW_MARK_LAUNCHER_START).span(a * 10, a * 10 + 2, HW_PHASE_IMPORTS);
    s.fail(a * 10 + 4).exit(a * 10 + 5, {.exit_code = 1});
  }
  s.as(4).mark(40, HW_MARK_LAUNCHER_START).steps(42, 1, 1, 8).exit(50);
  const JobResult job = s.tell();
  std::size_t failures = 0;
  for (const AttemptResult& a : job.attempts) failures += a.failure.has_value();
  EXPECT_EQ(failures, 3u);
  const Account total = job.ledger.total();
  EXPECT_EQ(total.sums[Bucket::effective], sec(8));
  // All but the first attempt's own start (4 s) is the failures' doing.
  EXPECT_EQ(total.failure_ns, sec(40 - 4 - 8));
  EXPECT_EQ(total.sums.total(), sec(40));
}

TEST(Job, ARequeueWaitsInTheQueueOutsideTheWall) {
  Story s;
  s.as(1)
      .mark(-30, HW_MARK_SUBMITTED)
      .mark(0, HW_MARK_RESOURCES_AVAILABLE)
      .mark(1, HW_MARK_ALLOCATED);
  s.mark(2, HW_MARK_LAUNCHER_START).steps(3, 1, 1, 7).mark(9, HW_MARK_PREEMPT_NOTICE);
  s.exit(11, {.signal = 15});
  s.as(65537).mark(111, HW_MARK_RESOURCES_AVAILABLE).mark(112, HW_MARK_ALLOCATED);
  s.mark(114, HW_MARK_LAUNCHER_START).steps(115, 1, 8, 5).exit(120);
  const JobResult job = s.tell();
  EXPECT_EQ(job.outside_ns(true), sec(130));
  EXPECT_EQ(job.ledger.total().sums.total(), sec(11 + 9));
  EXPECT_EQ(job.ledger.total().sums[Bucket::down], 0);
  EXPECT_EQ(job.ledger.total().sums[Bucket::scheduling], sec(2));
  EXPECT_EQ(job.ledger.total().sums[Bucket::hardware_setup], sec(3));
  EXPECT_EQ(job.attempts[0].failure->info.origin, HW_ORIGIN_PREEMPTION);
}

TEST(Job, WhatLiesBeforeTheNextRequestIsNotTheQueue) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(1, 1, 1, 9).exit(10);
  s.as(65537).mark(100, HW_MARK_SUBMITTED).mark(130, HW_MARK_RESOURCES_AVAILABLE);
  s.mark(130, HW_MARK_LAUNCHER_START).steps(131, 1, 10, 4).exit(135);
  const JobResult job = s.tell();
  EXPECT_EQ(job.outside_ns(false), sec(90));
  EXPECT_EQ(job.outside_ns(true), sec(30));
  EXPECT_EQ(job.outside_ns(false, sec(50), sec(110)), sec(50)) << "of a window";
  EXPECT_EQ(job.ledger.total().sums.total(), sec(15));
}

TEST(Job, AnOrderlyExitAfterAPreemptionNoticeIsAnInterruption) {
  Story s;
  s.as(1)
      .mark(0, HW_MARK_LAUNCHER_START)
      .steps(1, 1, 1, 3)
      .mark(3.5, HW_MARK_PREEMPT_NOTICE)
      .exit(4);
  s.as(65537).mark(10, HW_MARK_LAUNCHER_START).steps(11, 1, 4, 3).exit(14);
  const JobResult job = s.tell();
  ASSERT_TRUE(job.attempts[0].failure);
  EXPECT_EQ(job.attempts[0].failure->info.origin, HW_ORIGIN_PREEMPTION);
}

TEST(Job, TheHigherOfTwoLiveAttemptsCounts) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(1, 1, 1, 30).exit(31);
  s.as(2).mark(10, HW_MARK_LAUNCHER_START).steps(12, 1, 10, 5).exit(17);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums.total(), sec(17));
  EXPECT_EQ(job.overlap_ns, sec(21));
  EXPECT_EQ(job.attempts[0].steps, 9u);
  EXPECT_EQ(job.attempts[1].replayed_steps, 0u);
}

TEST(Job, AMissingEndIsInferredAndSaidSo) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(1, 1, 1, 5);
  s.as(2).mark(20, HW_MARK_LAUNCHER_START).steps(21, 1, 6, 4).exit(25);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].facts.anomalies.missing_ends, 1u);
  EXPECT_EQ(job.attempts[0].failure->t_ns, sec(6));
  EXPECT_EQ(job.gap_ns, sec(14));
  EXPECT_EQ(job.ledger.total().sums[Bucket::down], sec(14));
}

TEST(Job, ARollBackInsideAnAttemptIsReplay) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 10).steps(10, 1, 6, 10).exit(20);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].replayed_steps, 5u);
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_replay], sec(5));
}

TEST(Job, UnsavedIsProvisionalUntilSomebodyRestores) {
  Story s;
  s.as(1)
      .mark(0, HW_MARK_LAUNCHER_START)
      .steps(0, 1, 1, 10)
      .durable(7.5, 7)
      .fail(10.5)
      .exit(11, {.signal = 9});
  EXPECT_EQ(s.tell().unsaved_ns, sec(3));
  s.as(2).mark(12, HW_MARK_LAUNCHER_START).restore(12, 4).steps(13, 1, 5, 1).exit(14);
  EXPECT_EQ(s.tell().unsaved_ns, sec(6));
}

TEST(Job, ASaveThatStatesOnlyItsStepIsFoundByIt) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START);
  for (int n = 1; n <= 10; ++n) s.step(n, n + 1, n, n * 64);
  s.durable(10.5, 7).fail(11.5).exit(12, {.signal = 9});
  EXPECT_EQ(s.tell().unsaved_ns, sec(3));
}

TEST(Job, AResumedJobWithoutRestoreEventsIsJudgedByItsFirstStep) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 10).fail(10).exit(10, {.signal = 9});
  s.as(2).mark(10, HW_MARK_LAUNCHER_START).steps(11, 1, 9, 5).exit(16);
  EXPECT_EQ(s.tell().unsaved_ns, sec(2));
}

TEST(Job, LiveDownTimeGrowsUntilTheNextLaunch) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 10).fail(10).exit(11, {.signal = 9});
  EXPECT_EQ(s.tell(20).ledger.total().sums[Bucket::down], sec(10));
  EXPECT_EQ(s.tell().ledger.total().sums[Bucket::down], sec(1));
}

TEST(Job, AStartAfterACleanEndIsNobodysFailure) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(2, 1, 1, 8).exit(10);
  s.as(2).mark(10, HW_MARK_LAUNCHER_START).span(10, 13, HW_PHASE_IMPORTS);
  s.steps(13, 1, 9, 5).fail(18).exit(18, {.signal = 9});
  s.as(3).mark(18, HW_MARK_LAUNCHER_START).span(18, 20, HW_PHASE_IMPORTS).steps(20, 1, 14, 5);
  s.exit(25);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums.total(), sec(25));
  EXPECT_EQ(job.ledger.total().failure_ns, sec(2));  // the third attempt's start-up alone
}

}  // namespace
}  // namespace headway::timeline
