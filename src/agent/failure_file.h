// <attempt>/failure.json: the verdict, what was done about it, how ranks ended, what the kernel
// said, and the last lines of each, without secrets. docs/formats/failure.md. Files only; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/diagnosis.h"
#include "base/status.h"
#include "failure/classify.h"

namespace headway::agent {

inline constexpr std::size_t failure_file_bytes_max = 64 << 20;

struct FailureRecord {
  failure::Verdict verdict;
  std::string decision;
  std::vector<std::string> kernel;
  std::int64_t real_ns = 0;
  bool unless_there = false;  // another node that shares the folder may know better
};
base::Status write_failure_file(const Remains& remains, const FailureRecord& record);

// What `headway why` cannot find out again from the logs.
struct FailureFacts {
  std::vector<failure::RankExit> exits;  // of those that we did not end ourselves
  std::vector<std::string> kernel;
  std::optional<failure::Verdict> seen;  // judged by the agent's own eyes (own_verdict.h)
  std::string proof;                     // the line that the agent judged by, in full
  std::string decision;                  // what it did about it
};
// None: there is no such file, or it is not one.
std::optional<FailureFacts> read_failure_file(const std::string& attempt_dir);

}  // namespace headway::agent
