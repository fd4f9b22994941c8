// After an attempt that failed by itself: why, whether to try again, and the record of both. One
// for a job's run; main thread only. What can wait until the ranks are back waits: when_idle().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/diagnosis.h"
#include "agent/failure_file.h"
#include "agent/journal.h"
#include "agent/options.h"
#include "agent/rank_progress.h"
#include "agent/restart_policy.h"
#include "agent/supervisor.h"

namespace headway::agent {

class Aftermath {
 public:
  explicit Aftermath(const RunOptions& options);

  void begin_attempt() { diagnosis_.begin_attempt(); }
  // Why, by what is known here. Records it in the attempt's journal.
  failure::Verdict appraise(const AttemptResult& result, AgentJournal& journal);
  // Has the attempt trained something that none before it had? Once an attempt.
  bool progressed(const RankProgress& progress, std::int64_t lasted_ns);
  // For failure.json, which when_idle() writes.
  void keep(Remains&& remains, const failure::Verdict& verdict, std::string decision,
            bool unless_there = false);
  [[nodiscard]] RestartPolicy& policy() { return policy_; }

  // All of it. `lasted_ns`: the attempt's length.
  RestartDecision consider(AttemptResult&& result, const RankProgress& progress,
                           std::int64_t lasted_ns, AgentJournal& journal);
  // Of the last failure considered; "": nothing is known but how it ended.
  [[nodiscard]] const std::string& cause() const { return cause_; }
  [[nodiscard]] int restarts() const { return policy_.restarts(); }

  // The ranks run again, or never will: writes failure.json, compiles the rules.
  void when_idle();

 private:
  struct Pending {
    Remains remains;
    FailureRecord record;
  };

  const bool has_ranks_;
  Diagnosis diagnosis_;
  RestartPolicy policy_;
  std::optional<std::int64_t> best_;  // data position that some attempt has trained up to
  std::optional<Pending> pending_;
  std::string cause_;
};

}  // namespace headway::agent
