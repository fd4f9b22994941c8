#include "agent/own_verdict.h"

#include <fmt/format.h>

#include <cstring>

namespace headway::agent {
namespace {

using cluster::FailureKind;
using failure::Role;

constexpr double kHangConfidence = 0.9;
constexpr double kLostConfidence = 0.9;
constexpr std::string_view kStartAgain =
    "Start it again with the same --job: it goes on from its last checkpoint, if it has saved any.";

failure::Verdict retryable(std::string category, Role role, std::string origin, double confidence) {
  failure::Verdict verdict;
  verdict.category = std::move(category);
  verdict.role = role;
  verdict.origin = std::move(origin);
  verdict.retryable = true;
  verdict.confidence = confidence;
  return verdict;
}

}  // namespace

failure::Verdict hang_verdict(const Remains::Hang& hang) {
  failure::Verdict verdict = retryable("hang", Role::cause, "unknown", kHangConfidence);
  verdict.rank = hang.rank;
  verdict.proof = hang.text;
  verdict.rule = "agent.no_progress";
  verdict.next = "Look at the stacks of all ranks: stacks-<rank>.txt in the attempt's folder.";
  return verdict;
}

failure::Verdict stopped_verdict(int signal) {
  failure::Verdict verdict = retryable("stopped", Role::outcome, "user", 1);
  verdict.proof = fmt::format("the agent was sent SIG{}", sigabbrev_np(signal));
  verdict.rule = "agent.stopped";
  verdict.next = kStartAgain;
  return verdict;
}

failure::Verdict unended_verdict() {
  failure::Verdict verdict = retryable("unended", Role::outcome, "unknown", 1);
  verdict.proof = "no end was recorded: the agent or the machine was killed, and the ranks with it";
  verdict.rule = "agent.unended";
  verdict.next = kStartAgain;
  return verdict;
}

failure::Verdict other_node_verdict(const cluster::Failure& failure, std::string told) {
  failure::Verdict verdict = retryable("node_lost", Role::cause, "infra", kLostConfidence);
  verdict.rule = "agent.other_node";
  verdict.proof = std::move(told);
  switch (failure.kind) {
    case FailureKind::node_lost:
      verdict.next = fmt::format(
          "Look at {}: is it up, and reachable? Start headway run there again if its agent is "
          "gone.",
          failure.node);
      return verdict;
    case FailureKind::node_left:
      verdict.category = "stopped";
      verdict.role = Role::outcome;
      verdict.origin = "user";
      verdict.next = fmt::format("The agent on {} was asked to end.", failure.node);
      return verdict;
    case FailureKind::rank_failed:
      break;
  }
  const cluster::Account& account = failure.account;
  verdict.category = account.category.empty() ? "unknown" : account.category;
  verdict.role = account.is_cause ? Role::cause : Role::outcome;
  verdict.origin = "unknown";
  verdict.retryable = account.retryable;
  verdict.confidence = account.sure_percent / 100.0;
  verdict.rank = static_cast<int>(failure.rank);
  verdict.next = fmt::format("The output is on {}: ask headway why there.", failure.node);
  return verdict;
}

failure::Verdict other_node_verdict() {
  failure::Verdict verdict = retryable("other_node", Role::outcome, "unknown", 1);
  verdict.rule = "agent.other_node";
  verdict.proof = "ranks here were ended for the sake of other nodes";
  verdict.next = "Ask headway why on the first node.";
  return verdict;
}

}  // namespace headway::agent
