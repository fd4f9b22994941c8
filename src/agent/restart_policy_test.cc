#include "agent/restart_policy.h"

#include <gtest/gtest.h>

#include <vector>

namespace headway::agent {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

failure::Verdict unknown() {
  failure::Verdict verdict;
  verdict.category = "unknown";
  return verdict;
}

failure::Verdict user_error(double confidence = 0.9) {
  failure::Verdict verdict;
  verdict.category = "user_shape";
  verdict.role = failure::Role::cause;
  verdict.confidence = confidence;
  return verdict;
}

TEST(RestartPolicy, FollowsAtOnceAfterProgressAndCountsItsBudget) {
  RestartPolicy policy({2, 0}, false, 1);
  for (int i = 0; i < 2; ++i) {
    const RestartDecision decision = policy.on_failure(unknown(), true, i);
    EXPECT_TRUE(decision.restart);
    EXPECT_EQ(decision.delay_ns, 0);
  }
  const RestartDecision last = policy.on_failure(unknown(), true, 3);
  EXPECT_FALSE(last.restart);
  EXPECT_EQ(last.why_not, "not restarted: all 2 restarts are used");
  EXPECT_EQ(policy.restarts(), 2);
}

TEST(RestartPolicy, WithoutABudgetThereIsNothingToExplain) {
  RestartPolicy policy({0, 0}, false, 1);
  EXPECT_FALSE(policy.on_failure(user_error(), true, 0).restart);
  EXPECT_EQ(policy.on_failure(user_error(), true, 0).why_not, "");
}

TEST(RestartPolicy, AUsersErrorIsNotRetriedUnlessAskedForOrUnsure) {
  EXPECT_FALSE(RestartPolicy({5, 0}, false, 1).on_failure(user_error(), true, 0).restart);
  EXPECT_TRUE(RestartPolicy({5, 0}, true, 1).on_failure(user_error(), true, 0).restart);
  EXPECT_TRUE(RestartPolicy({5, 0}, false, 1).on_failure(user_error(0.3), true, 0).restart);
  failure::Verdict transient = user_error();
  transient.retryable = true;
  EXPECT_TRUE(RestartPolicy({5, 0}, false, 1).on_failure(transient, true, 0).restart);
}

TEST(RestartPolicy, ACrashLoopIsCutAndProgressForgivesIt) {
  RestartPolicy policy({100, 0}, false, 1);
  EXPECT_TRUE(policy.on_failure(unknown(), false, 0).restart);
  EXPECT_TRUE(policy.on_failure(unknown(), false, 0).restart);
  EXPECT_TRUE(policy.on_failure(unknown(), true, 0).restart) << "it trained something";
  EXPECT_TRUE(policy.on_failure(unknown(), false, 0).restart);
  EXPECT_TRUE(policy.on_failure(unknown(), false, 0).restart);
  const RestartDecision cut = policy.on_failure(unknown(), false, 0);
  EXPECT_FALSE(cut.restart);
  EXPECT_EQ(cut.why_not, "not restarted: a crash loop, 3 failures in a row without a new step");
}

TEST(RestartPolicy, AWindowGivesRestartsBack) {
  RestartPolicy policy({2, 10 * kSecond}, false, 1);
  EXPECT_TRUE(policy.on_failure(unknown(), true, 0).restart);
  EXPECT_TRUE(policy.on_failure(unknown(), true, 5 * kSecond).restart);
  EXPECT_FALSE(policy.on_failure(unknown(), true, 9 * kSecond).restart);
  EXPECT_TRUE(policy.on_failure(unknown(), true, 10 * kSecond).restart) << "the first is old";
  EXPECT_FALSE(policy.on_failure(unknown(), true, 14 * kSecond).restart);
}

TEST(RestartPolicy, SaysWhatIsUsed) {
  const auto said = [](const char* text) {
    const RestartBudget budget = parse_budget(text).value();
    RestartPolicy policy(budget, false, 1);
    for (int i = 0; i < budget.count; ++i)
      EXPECT_TRUE(policy.on_failure(unknown(), true, 0).restart);
    return policy.on_failure(unknown(), true, 0).why_not;
  };
  EXPECT_EQ(said("1"), "not restarted: the only restart is used");
  EXPECT_EQ(said("2/1h"), "not restarted: all 2 restarts within 1h are used");
  EXPECT_EQ(said("1/90s"), "not restarted: the only restart within 90s is used");
}

TEST(RestartPolicy, WaitsAreBoundedAndDifferBetweenJobs) {
  std::vector<std::int64_t> first;
  for (const std::uint64_t seed : {1u, 2u}) {
    RestartPolicy policy({100, 0}, false, seed);
    policy.on_failure(unknown(), false, 0);
    const std::int64_t delay_ns = policy.on_failure(unknown(), false, 0).delay_ns;
    EXPECT_GE(delay_ns, RestartPolicy::delay_min_ns);
    EXPECT_LE(delay_ns, 3 * RestartPolicy::delay_min_ns);
    first.push_back(delay_ns);
  }
  EXPECT_NE(first[0], first[1]);
}

TEST(RestartBudget, IsReadOrRefusedWithTheWayToWriteIt) {
  EXPECT_EQ(parse_budget("3")->count, 3);
  EXPECT_EQ(parse_budget("3")->window_ns, 0);
  EXPECT_EQ(parse_budget("3/1h")->window_ns, 3600 * kSecond);
  EXPECT_EQ(parse_budget("10/30m")->window_ns, 1800 * kSecond);
  for (const char* bad : {"", "x", "-1", "3/", "3/h", "3/1", "3/0h", "3/1w", "99999999", "3 /1h"}) {
    EXPECT_FALSE(parse_budget(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace headway::agent
