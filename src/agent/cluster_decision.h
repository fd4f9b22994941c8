// All ranks of a round are gone, on all nodes: again, or with which code does the job end? Pure.
#pragma once

#include <cstdint>
#include <string>

#include "agent/restart_policy.h"
#include "cluster/coordinator_core.h"
#include "failure/classify.h"

namespace headway::agent {

// What a node tells the coordinator of its own ranks' end.
cluster::Account account_of(const failure::Verdict& verdict, bool progressed);

// Of several accounts that of the first cause; where none is one, that of the first who knows
// anything. A lost node has nothing to say.
failure::Verdict verdict_of(const cluster::Decide& decide);

// "node b: rank 3 was killed by SIGKILL (oom)".
std::string describe_failure(const cluster::Decide& decide);

struct ClusterDecision {
  cluster::Decision decision;
  std::string told;  // what happened and what follows, for a person
};
ClusterDecision decide_round(const cluster::Decide& decide, RestartPolicy& policy, int restarts_max,
                             std::int64_t now_ns);

}  // namespace headway::agent
