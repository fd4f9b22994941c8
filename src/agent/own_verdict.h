// Verdicts that no log shows: what the agent itself has seen, done or been told. Pure.
#pragma once

#include <string>
#include <string_view>

#include "agent/diagnosis.h"
#include "cluster/coordinator_core.h"
#include "failure/classify.h"

namespace headway::agent {

// How the rules of these begin.
inline constexpr std::string_view kOwnRules = "agent.";

failure::Verdict hang_verdict(const Remains::Hang& hang);
// Somebody sent the agent this signal, and ranks did not end well.
failure::Verdict stopped_verdict(int signal);
// Nobody wrote down an end: what writes it was killed.
failure::Verdict unended_verdict();
// On several nodes: ranks here were ended because of another one. `told`: what it was, in words.
failure::Verdict other_node_verdict(const cluster::Failure& failure, std::string told);
// The same where only the first node knows more.
failure::Verdict other_node_verdict();

}  // namespace headway::agent
