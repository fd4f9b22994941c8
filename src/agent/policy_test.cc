#include "agent/policy.h"

#include <gtest/gtest.h>

#include <csignal>

#include "headway/headway.h"

namespace headway::agent {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kGrace = 5 * kSecond;

TEST(AttemptPolicy, CleanRanksEndWithoutASignal) {
  AttemptPolicy policy(2, kGrace);
  EXPECT_EQ(policy.on_rank_end(1, {0, 0}, 0), 0);
  EXPECT_FALSE(policy.done());
  EXPECT_FALSE(policy.deadline_ns().has_value());
  EXPECT_EQ(policy.on_rank_end(0, {0, 0}, 0), 0);
  EXPECT_TRUE(policy.done());
  EXPECT_FALSE(policy.outcome().failed());
}

TEST(AttemptPolicy, AFailureTellsTheRestThenKillsThem) {
  AttemptPolicy policy(3, kGrace);
  EXPECT_EQ(policy.on_rank_end(2, {7, 0}, 100), SIGTERM);
  EXPECT_TRUE(policy.tearing_down());
  ASSERT_TRUE(policy.deadline_ns().has_value());
  EXPECT_EQ(*policy.deadline_ns(), 100 + kGrace);
  EXPECT_EQ(policy.on_rank_end(0, {0, SIGTERM}, 200), 0) << "told once";
  EXPECT_EQ(policy.on_deadline(100 + kGrace - 1), 0);
  EXPECT_EQ(policy.on_deadline(100 + kGrace), SIGKILL);
  EXPECT_EQ(policy.on_deadline(100 + 2 * kGrace), 0) << "killed once";
  policy.on_rank_end(1, {0, SIGKILL}, 300);
  EXPECT_TRUE(policy.done());
  EXPECT_EQ(policy.outcome().failed_rank, 2) << "the first, not the casualties";
  EXPECT_EQ(policy.outcome().failed_end.exit_code, 7);
}

TEST(AttemptPolicy, NoDeadlineIsLeftWhenAllAreGone) {
  AttemptPolicy policy(2, kGrace);
  policy.on_rank_end(0, {1, 0}, 0);
  policy.on_rank_end(1, {0, SIGTERM}, 1);
  EXPECT_TRUE(policy.done());
  EXPECT_FALSE(policy.deadline_ns().has_value());
}

TEST(AttemptPolicy, AStopIsPassedOnAndWaitsForTheLastCheckpoint) {
  AttemptPolicy policy(2, kGrace);
  EXPECT_EQ(policy.on_signal(SIGTERM, false, 0), SIGTERM);
  EXPECT_FALSE(policy.deadline_ns().has_value()) << "nobody has ended: somebody may be saving";
  EXPECT_EQ(policy.on_rank_end(0, {0, SIGTERM}, 10), 0);
  ASSERT_TRUE(policy.deadline_ns().has_value());
  EXPECT_EQ(*policy.deadline_ns(), 10 + AttemptPolicy::stop_grace_min_ns);
  policy.on_rank_end(1, {0, 0}, 20);
  EXPECT_EQ(policy.outcome().stop_signal, SIGTERM);
}

TEST(AttemptPolicy, ASecondStopKills) {
  AttemptPolicy policy(2, kGrace);
  EXPECT_EQ(policy.on_signal(SIGINT, false, 0), SIGINT);
  EXPECT_EQ(policy.on_signal(SIGINT, false, 1), SIGKILL);
  EXPECT_EQ(policy.on_signal(SIGINT, false, 2), 0);
}

TEST(AttemptPolicy, AStopDuringTearDownOnlyPreventsTheRestart) {
  AttemptPolicy policy(2, kGrace);
  policy.on_rank_end(0, {1, 0}, 0);
  EXPECT_EQ(policy.on_signal(SIGINT, false, 1), 0);
  EXPECT_EQ(*policy.deadline_ns(), kGrace);
  EXPECT_FALSE(judge(policy.outcome(), true, false).restart);
}

TEST(AttemptPolicy, OtherSignalsPassThrough) {
  AttemptPolicy policy(1, kGrace);
  EXPECT_EQ(policy.on_signal(SIGUSR1, false, 0), SIGUSR1);
  EXPECT_EQ(policy.on_signal(SIGUSR2, true, 0), 0) << "the rank had it from the terminal";
  EXPECT_EQ(policy.outcome().stop_signal, 0);
}

TEST(AttemptPolicy, ATerminalsInterruptCountsOnlyIfItEndsTheRank) {
  AttemptPolicy debugger(1, kGrace);
  EXPECT_EQ(debugger.on_signal(SIGINT, true, 0), 0);
  EXPECT_EQ(debugger.on_signal(SIGINT, true, 1), 0) << "two Ctrl-C in a debugger kill nothing";
  debugger.on_rank_end(0, {0, SIGSEGV}, 2);
  EXPECT_EQ(debugger.outcome().stop_signal, 0);

  AttemptPolicy stopped(1, kGrace);
  stopped.on_signal(SIGINT, true, 0);
  stopped.on_rank_end(0, {0, SIGINT}, 1);
  EXPECT_EQ(stopped.outcome().stop_signal, SIGINT);
}

TEST(Judge, RestartsWhileThereAreSome) {
  Outcome failed;
  failed.failed_rank = 0;
  failed.failed_end = {0, SIGKILL};
  EXPECT_TRUE(judge(failed, true, false).restart);
  EXPECT_FALSE(judge(failed, true, false).job_ends);
  EXPECT_FALSE(judge(failed, false, false).restart);
  EXPECT_TRUE(judge(failed, false, false).job_ends);
  EXPECT_EQ(judge(failed, false, false).exit_code, 128 + SIGKILL);
  EXPECT_EQ(judge(Outcome{}, true, false).exit_code, 0);
  EXPECT_FALSE(judge(Outcome{}, true, false).restart);
}

TEST(Judge, APreemptedJobHasNotEnded) {
  Outcome stopped;
  stopped.stop_signal = SIGTERM;
  EXPECT_FALSE(judge(stopped, false, true).job_ends);
  EXPECT_TRUE(judge(stopped, false, false).job_ends);
}

TEST(FailureOrigin, FollowsWhoAskedForTheStop) {
  Outcome outcome;
  EXPECT_EQ(failure_origin(outcome, true), HW_ORIGIN_UNKNOWN);
  outcome.stop_signal = SIGTERM;
  EXPECT_EQ(failure_origin(outcome, true), HW_ORIGIN_PREEMPTION);
  EXPECT_EQ(failure_origin(outcome, false), HW_ORIGIN_USER);
  outcome.stop_signal = SIGINT;
  EXPECT_EQ(failure_origin(outcome, true), HW_ORIGIN_USER);
}

TEST(DescribeEnd, NamesTheSignal) {
  EXPECT_EQ(describe_end({3, 0}), "exited with code 3");
  EXPECT_EQ(describe_end({0, SIGKILL}), "was killed by SIGKILL");
}

TEST(AttemptPolicy, AnotherNodesFailureIsNoneOfOurs) {
  AttemptPolicy policy(2, 5'000);
  EXPECT_EQ(policy.on_peer_failure(100), SIGTERM);
  EXPECT_EQ(policy.on_peer_failure(200), 0) << "told once";
  EXPECT_EQ(policy.deadline_ns(), 5'100);
  EXPECT_EQ(policy.on_rank_end(0, {0, SIGTERM}, 300), 0);
  EXPECT_EQ(policy.on_deadline(5'100), SIGKILL);
  EXPECT_EQ(policy.on_rank_end(1, {1, 0}, 5'200), 0);
  EXPECT_FALSE(policy.outcome().failed());
  EXPECT_TRUE(policy.outcome().for_others);
}

TEST(AttemptPolicy, WhoSavesWhenAPeerFailsKeepsTheGraceForIt) {
  AttemptPolicy policy(1, 5'000);
  EXPECT_EQ(policy.on_signal(SIGTERM, false, 100), SIGTERM);
  EXPECT_FALSE(policy.deadline_ns());
  EXPECT_EQ(policy.on_peer_failure(200), 0) << "it has been told";
  EXPECT_EQ(policy.deadline_ns(), 5'200);
}

TEST(AttemptPolicy, AFenceKillsWhateverElseIsUnderWay) {
  AttemptPolicy failing(2, 5'000);
  EXPECT_EQ(failing.on_rank_end(0, {3, 0}, 100), SIGTERM);
  EXPECT_EQ(failing.on_fenced(), SIGKILL);
  EXPECT_TRUE(failing.outcome().failed()) << "it was first";
  EXPECT_FALSE(failing.outcome().for_others);
  AttemptPolicy running(1, 5'000);
  EXPECT_EQ(running.on_fenced(), SIGKILL);
  running.on_rank_end(0, {0, SIGKILL}, 200);
  EXPECT_FALSE(running.outcome().failed());
}

}  // namespace
}  // namespace headway::agent
