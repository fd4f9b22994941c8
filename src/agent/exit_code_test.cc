#include "agent/exit_code.h"

#include <gtest/gtest.h>

#include <csignal>

#include "agent/options.h"

namespace headway::agent {
namespace {

Outcome stopped_by(int signal) {
  Outcome outcome;
  outcome.stop_signal = signal;
  return outcome;
}

TEST(AfterStop, ACleanEndAfterANoticeIsNotSuccess) {
  const Outcome stopped = stopped_by(SIGTERM);
  const Verdict judged = judge(stopped, false, true);
  EXPECT_EQ(judged.exit_code, 0);
  const Verdict preempted =
      after_stop(judged, stopped, true, StopCause::preemption, RequeueWhen::preempted);
  EXPECT_EQ(preempted.exit_code, kExitPreempted);
  EXPECT_FALSE(preempted.job_ends);
  EXPECT_EQ(after_stop(judged, stopped, true, StopCause::unknown, RequeueWhen::preempted).exit_code,
            kExitPreempted);
}

TEST(AfterStop, ARanksOwnCodeStays) {
  Outcome stopped = stopped_by(SIGTERM);
  stopped.failed_rank = 1;
  stopped.failed_end = {7, 0};
  EXPECT_EQ(after_stop(judge(stopped, false, true), stopped, true, StopCause::preemption,
                       RequeueWhen::preempted)
                .exit_code,
            7);
}

TEST(AfterStop, ACancelledJobHasEnded) {
  const Outcome stopped = stopped_by(SIGTERM);
  const Verdict judged = judge(stopped, false, true);
  EXPECT_TRUE(
      after_stop(judged, stopped, true, StopCause::cancelled, RequeueWhen::preempted).job_ends);
  EXPECT_TRUE(
      after_stop(judged, stopped, true, StopCause::time_limit, RequeueWhen::preempted).job_ends);
  EXPECT_FALSE(
      after_stop(judged, stopped, true, StopCause::time_limit, RequeueWhen::time_limit).job_ends);
  EXPECT_FALSE(
      after_stop(judged, stopped, true, StopCause::node_failure, RequeueWhen::preempted).job_ends);
}

TEST(AfterStop, OthersAreLeftAlone) {
  EXPECT_EQ(after_stop(judge({}, false, true), {}, true, StopCause::unknown, RequeueWhen::preempted)
                .exit_code,
            0);
  EXPECT_TRUE(
      after_stop(judge({}, false, true), {}, true, StopCause::unknown, RequeueWhen::preempted)
          .job_ends);
}

TEST(AfterStop, WhoStopsByHandIsToldThatItIsNotDone) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Outcome by_hand = stopped_by(signal);
    const Verdict verdict = after_stop(judge(by_hand, false, false), by_hand, false,
                                       StopCause::unknown, RequeueWhen::preempted);
    EXPECT_EQ(verdict.exit_code, 128 + signal);
    EXPECT_TRUE(verdict.job_ends);
    EXPECT_TRUE(is_clean_stop(verdict.exit_code));
  }
  Outcome failed = stopped_by(SIGTERM);
  failed.failed_rank = 1;
  failed.failed_end = {7, 0};
  const Verdict verdict = after_stop(judge(failed, false, false), failed, false, StopCause::unknown,
                                     RequeueWhen::preempted);
  EXPECT_EQ(verdict.exit_code, 7);
  for (const int code : {0, 7, 125, 128, 137, 139}) EXPECT_FALSE(is_clean_stop(code)) << code;
}

TEST(ClassifyExit, KeepsThoseApartThatAskForDifferentActs) {
  EXPECT_EQ(classify_exit(0), ExitClass::done);
  EXPECT_EQ(classify_exit(1), ExitClass::user_error);
  EXPECT_EQ(classify_exit(kExitUsage), ExitClass::user_error);
  EXPECT_EQ(classify_exit(kExitNotFound), ExitClass::user_error);
  EXPECT_EQ(classify_exit(kExitAgentFault), ExitClass::agent_fault);
  EXPECT_EQ(classify_exit(128 + SIGKILL), ExitClass::crashed);
  EXPECT_EQ(classify_exit(128 + SIGBUS), ExitClass::crashed);
  EXPECT_EQ(classify_exit(128 + SIGTERM), ExitClass::preempted);
}

}  // namespace
}  // namespace headway::agent
