#include "agent/cluster_decision.h"

#include <gtest/gtest.h>

#include "agent/options.h"

namespace headway::agent {
namespace {

using cluster::Account;
using cluster::Decide;
using cluster::FailureKind;

Decide failed(std::vector<cluster::Failure> failures) {
  Decide decide;
  decide.generation = 1;
  decide.failures_total = failures.size();
  decide.failures = std::move(failures);
  return decide;
}

TEST(ClusterDecision, ACauseWinsOverAConsequenceThatWasHeardOfFirst) {
  const Decide decide =
      failed({{FailureKind::rank_failed, "a", 0, 1, 0, Account{false, false, true, 90, "peer"}},
              {FailureKind::rank_failed, "b", 2, 1, 0, Account{false, true, false, 80, "shape"}}});
  EXPECT_EQ(verdict_of(decide).category, "shape");
  RestartPolicy policy({3, 0}, false, 1);
  const ClusterDecision decision = decide_round(decide, policy, 3, 0);
  EXPECT_FALSE(decision.decision.restart) << "what cannot get better is not tried again";
  EXPECT_EQ(decision.decision.exit_code, 1);
  EXPECT_EQ(decision.told.substr(0, 41), "node a: rank 0 exited with code 1 (shape)");
}

TEST(ClusterDecision, ALostNodeIsTriedAgainAndIsAFaultOfTheLaunchersElse) {
  const Decide decide = failed({{FailureKind::node_lost, "b"}});
  RestartPolicy policy({1, 0}, false, 1);
  EXPECT_TRUE(decide_round(decide, policy, 1, 0).decision.restart);
  const ClusterDecision last = decide_round(decide, policy, 1, 0);
  EXPECT_FALSE(last.decision.restart);
  EXPECT_EQ(last.decision.exit_code, kExitAgentFault);
}

TEST(ClusterDecision, ProgressOnAnyNodeIsProgress) {
  Decide decide = failed({{FailureKind::rank_failed, "a", 0, 0, 9}});
  decide.progressed = true;
  RestartPolicy policy({9, 0}, false, 1);
  for (int i = 0; i < 5; ++i) {
    const ClusterDecision decision = decide_round(decide, policy, 9, i);
    EXPECT_TRUE(decision.decision.restart);
    EXPECT_EQ(decision.decision.delay_ns, 0);
  }
  EXPECT_EQ(decide_round(decide, policy, 9, 6).decision.exit_code, 137);
}

TEST(ClusterDecision, AnAgreedStopCostsNoRestart) {
  Decide decide;
  decide.drained = true;
  RestartPolicy policy({0, 0}, false, 1);
  EXPECT_TRUE(decide_round(decide, policy, 0, 0).decision.restart);
  EXPECT_EQ(policy.restarts(), 0);
}

TEST(ClusterDecision, AnAccountSaysNothingOfWhatIsNotKnown) {
  failure::Verdict verdict;
  verdict.category = "unknown";
  EXPECT_EQ(account_of(verdict, true).category, "");
  EXPECT_TRUE(account_of(verdict, true).progressed);
  EXPECT_TRUE(account_of(verdict, true).retryable);
  verdict.category = "oom";
  verdict.confidence = 0.755;
  verdict.role = failure::Role::cause;
  const Account account = account_of(verdict, false);
  EXPECT_EQ(account.category, "oom");
  EXPECT_EQ(account.sure_percent, 76);
  EXPECT_TRUE(account.is_cause);
}

}  // namespace
}  // namespace headway::agent
