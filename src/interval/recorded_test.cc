#include "interval/recorded.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

// On machines, a rank on each: the first attempt is cut off, and the next one has others.
Tier tier_when(const std::vector<const char*>& before, const std::vector<const char*>& after,
               std::int64_t next_attempt = 2) {
  Story s;
  attempt(s, 0, 1).as(1, event::kAgentRank);
  s.fail(26, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0}).exit(26, {.signal = 9});
  attempt(s, 30, next_attempt).as(next_attempt, event::kAgentRank).exit(56);
  s.mark(56, HW_MARK_JOB_END);
  timeline::JobResult job = s.tell();
  EXPECT_EQ(job.attempts.size(), 2U);
  for (const auto& [i, hosts] : {std::pair(0U, &before), std::pair(1U, &after)}) {
    job.attempts[i].ranks.clear();
    for (const char* host : *hosts) job.attempts[i].ranks.emplace_back().host = host;
  }
  const History history = history_of(job);
  EXPECT_EQ(history.total(), 1) << "counted once, by what it took with it";
  EXPECT_EQ(history[tier_of_failure(job, 0)], 1);
  return tier_of_failure(job, 0);
}

TEST(History, CountsMachinesAndZones) {
  EXPECT_EQ(tier_when({"a", "b", "c"}, {"a", "b", "c"}), Tier::process);
  EXPECT_EQ(tier_when({"a", "b", "c"}, {"c", "a", "b"}), Tier::process);
  EXPECT_EQ(tier_when({"a", "b", "c"}, {"a", "b", "d"}), Tier::node);
  EXPECT_EQ(tier_when({"a", "b", "c"}, {"a", "b"}), Tier::node) << "goes on with fewer";
  EXPECT_EQ(tier_when({"a", "b", "c"}, {"a", "d", "e"}), Tier::node) << "one is left";
  EXPECT_EQ(tier_when({"a", "b", "c"}, {"d", "e", "f"}), Tier::zone);
  EXPECT_EQ(tier_when({"a", "b"}, {"a", "b"}, 65'537), Tier::node) << "another allocation";
  EXPECT_EQ(tier_when({"a", "b"}, {}), Tier::process) << "nothing is known of the next one";
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
