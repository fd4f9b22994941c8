// What is made anew for every attempt, and the first records of its journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/environment.h"
#include "agent/identity.h"
#include "agent/journal.h"
#include "agent/options.h"
#include "agent/port.h"
#include "record/board.h"

namespace headway::agent {

struct AttemptContext {
  int restarts = 0;  // before this one, in this invocation
  std::string dir;   // empty: nothing is kept
  std::optional<Measurement> measurement;
  GroupPlace place;
  ReservedPort port;    // of a single machine
  record::Board board;  // invalid: none could be made
};

// Attributes, then the marks up to launcher_start. `began_monotonic_ns`: when this launch began.
//
// The first launch of an allocation also says when the hardware was ours: under Slurm at the job's
// start time, where it states one; otherwise when the agent began. A later launch has been given
// nothing new. Without a scheduler the allocation was also asked for at that time.
void write_opening(AgentJournal& journal, const RunOptions& options,
                   const std::optional<SlurmInfo>& slurm, AttemptId id,
                   std::int64_t began_monotonic_ns);

// What Slurm says of when it was asked for this allocation and gave it; again, where its answer
// came too late for the opening.
void write_allocation(AgentJournal& journal, const SlurmInfo& slurm,
                      std::int64_t began_monotonic_ns);

}  // namespace headway::agent
