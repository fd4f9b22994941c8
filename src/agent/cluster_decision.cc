#include "agent/cluster_decision.h"

#include <fmt/format.h>

#include <cmath>

#include "agent/options.h"
#include "agent/policy.h"

namespace headway::agent {
namespace {

// Who ended after a notice is about to say goodbye, and need not be counted on first.
constexpr std::int64_t kAfterLastStepNs = 500'000'000;

}  // namespace

cluster::Account account_of(const failure::Verdict& verdict, bool progressed) {
  cluster::Account account;
  account.progressed = progressed;
  if (verdict.category == "unknown" || verdict.category == "none") return account;
  account.category = verdict.category.substr(0, cluster::category_bytes_max);
  account.is_cause = verdict.role == failure::Role::cause;
  account.retryable = verdict.retryable;
  account.sure_percent = static_cast<std::uint8_t>(std::lround(verdict.confidence * 100));
  return account;
}

failure::Verdict verdict_of(const cluster::Decide& decide) {
  const cluster::Account* best = nullptr;
  for (const cluster::Failure& failure : decide.failures) {
    const cluster::Account& account = failure.account;
    if (account.category.empty()) continue;
    if (best == nullptr || (account.is_cause && !best->is_cause)) best = &account;
  }
  failure::Verdict verdict;
  verdict.category = best != nullptr ? best->category : "unknown";
  verdict.retryable = best == nullptr || best->retryable;
  verdict.confidence = best != nullptr ? best->sure_percent / 100.0 : 0;
  return verdict;
}

std::string describe_failure(const cluster::Decide& decide) {
  if (decide.failures.empty()) return "the job stopped";
  const cluster::Failure& first = decide.failures.front();
  switch (first.kind) {
    case cluster::FailureKind::node_lost:
      return fmt::format("node {} was lost", first.node);
    case cluster::FailureKind::node_left:
      return fmt::format("node {} left", first.node);
    case cluster::FailureKind::rank_failed:
      break;
  }
  const failure::Verdict verdict = verdict_of(decide);
  std::string text = fmt::format("node {}: rank {} {}", first.node, first.rank,
                                 describe_end({first.exit_code, first.signal}));
  if (verdict.category != "unknown") text += fmt::format(" ({})", verdict.category);
  return text;
}

ClusterDecision decide_round(const cluster::Decide& decide, RestartPolicy& policy, int restarts_max,
                             std::int64_t now_ns) {
  if (decide.drained) {
    return {.decision = {.restart = true, .delay_ns = kAfterLastStepNs},
            .told = "all nodes have ended after the same step; starting again when they are here"};
  }
  const RestartDecision wanted = policy.on_failure(verdict_of(decide), decide.progressed, now_ns);
  ClusterDecision result;
  result.decision.restart = wanted.restart;
  result.decision.delay_ns = wanted.delay_ns;
  result.decision.exit_code = kExitAgentFault;
  if (!decide.failures.empty() &&
      decide.failures.front().kind == cluster::FailureKind::rank_failed) {
    const cluster::Failure& first = decide.failures.front();
    result.decision.exit_code = shell_code({first.exit_code, first.signal});
  }
  result.told = describe_failure(decide) + describe(wanted, policy.restarts(), restarts_max);
  return result;
}

}  // namespace headway::agent
