#include "interval/recorded.h"

#include <gtest/gtest.h>

#include "timeline/test_stream.h"

namespace headway::interval {
namespace {

using timeline::test::Story;

// 20 steps of 1 s, and an end.
Story& attempt(Story& s, double t, std::int64_t id) {
  s.as(id, event::kAgentRank).mark(t, HW_MARK_LAUNCHER_START);
  return s.as(id).steps(t + 5, 1, 20 * id, 20);
}

TEST(History, CountsWhatCutTrainingOff) {
  Story s;
  attempt(s, 0, 1).as(1, event::kAgentRank);
  s.fail(26, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0}).exit(26, {.signal = 9});
  // Fails before its first step: nothing was lost.
  s.as(2, event::kAgentRank).mark(30, HW_MARK_LAUNCHER_START);
  s.fail(31, {.exit_code = 1, .origin = HW_ORIGIN_USER, .rank = 0}).exit(31, {.exit_code = 1});
  // Preempted.
  attempt(s, 40, 3).as(3, event::kAgentRank);
  s.fail(66, {.signal = 15, .origin = HW_ORIGIN_PREEMPTION, .rank = 0}).exit(66, {.signal = 15});
  // Came to its end.
  attempt(s, 70, 4).as(4, event::kAgentRank).exit(96).mark(96, HW_MARK_JOB_END);
  const timeline::JobResult job = s.tell();
  ASSERT_EQ(job.attempts.size(), 4U);
  const History all = history_of(job);
  EXPECT_EQ(all[Tier::process], 1);
  EXPECT_EQ(all.total(), 1);
  EXPECT_NEAR(all.seconds, 3 * 20, 3.1) << "from the first step on";
  EXPECT_EQ(history_of(job, 1).seconds, 0) << "those before the first attempt";
  EXPECT_TRUE(was_cut_off(job, 0, true));
  EXPECT_TRUE(was_cut_off(job, 1, true));
  EXPECT_FALSE(was_cut_off(job, 2, true));
  EXPECT_FALSE(was_cut_off(job, 3, true));
}

TEST(History, WhoNeverSaidHowItEndedWasCutOffOnceItIsOver) {
  Story s;
  attempt(s, 0, 1);
  timeline::JobResult job = s.tell();
  ASSERT_EQ(job.attempts.size(), 1U);
  job.attempts[0].outcome = timeline::Outcome::running;
  EXPECT_FALSE(was_cut_off(job, 0, false));
  EXPECT_TRUE(was_cut_off(job, 0, true));
  EXPECT_EQ(history_of(job).total(), 0);
}

}  // namespace
}  // namespace headway::interval
