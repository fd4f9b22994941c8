// Why an attempt failed, as far as the agent can tell from what it saw: who ended how and in which
// order, the last lines of every rank, torch's error files, the kernel's and the scheduler's words.
// Main thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/policy.h"
#include "base/status.h"
#include "failure/classify.h"
#include "failure/tail.h"

namespace headway::agent {

// What an attempt leaves behind for its diagnosis.
struct Remains {
  struct Rank {
    int rank = 0;
    failure::Tail tail{tail_lines_max, tail_bytes_max};
  };
  static constexpr std::size_t tail_lines_max = 600;
  static constexpr std::size_t tail_bytes_max = 64 * 1024;

  std::string dir;          // the attempt's folder; empty: none
  std::vector<Rank> ranks;  // of this agent
  std::vector<EndedRank> ends;
  std::vector<std::string> kernel;
  std::vector<std::string> scheduler;
  struct Hang {
    int rank = 0;      // that the others wait for
    std::string text;  // for how long, and where it stands
  };
  std::optional<Hang> hang;  // no rank ended by itself
};

class Diagnosis {
 public:
  static constexpr int shown_lines_max = 40;  // of each rank's output, in failure.json

  // Compiles the rules, some milliseconds; done when there is time, not when a rank has died.
  void prepare();
  [[nodiscard]] failure::Verdict judge(const Remains& remains);

 private:
  std::unique_ptr<failure::Classifier> classifier_;
};

// What torch's error handler, or our hook, has written of a rank's exception, if anything.
void add_error_file(const std::string& attempt_dir, int rank, failure::Evidence& evidence);

// <attempt>/failure.json: the verdict, what was done about it, how ranks ended and their last
// lines, without secrets. docs/formats/failure.md.
base::Status write_failure_file(const Remains& remains, const failure::Verdict& verdict,
                                const std::string& decision, std::int64_t real_ns);

// hw_origin of a verdict.
[[nodiscard]] int origin_of(const failure::Verdict& verdict);

}  // namespace headway::agent
