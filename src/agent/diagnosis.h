// Why an attempt failed, as far as the agent can tell from what it saw: who ended how and in which
// order, the last lines of every rank, torch's error files, the kernel's and the scheduler's words.
// Main thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/machine_evidence.h"
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
    pid_t pid = 0;
  };
  static constexpr std::size_t tail_lines_max = 600;
  static constexpr std::size_t tail_bytes_max = 64 * 1024;

  std::string dir;          // the attempt's folder; empty: none
  std::vector<Rank> ranks;  // of this agent
  std::vector<EndedRank> ends;
  struct Hang {
    int rank = 0;      // that the others wait for
    std::string text;  // for how long, and where it stands
  };
  std::optional<Hang> hang;  // no rank ended by itself
};

class Diagnosis {
 public:
  // Compiles the rules, some milliseconds; done when there is time, not when a rank has died.
  void prepare();
  // An attempt is about to start: what the machine says from here on may be of it.
  void begin_attempt() { machine_.begin(); }
  [[nodiscard]] failure::Verdict judge(const Remains& remains);
  // What the kernel had said, when it judged last.
  [[nodiscard]] const std::vector<std::string>& kernel() const { return kernel_; }

 private:
  MachineEvidence machine_;
  std::vector<std::string> kernel_;
  std::unique_ptr<failure::Classifier> classifier_;
};

// What torch's error handler, or our hook, has written of a rank's exception, if anything.
void add_error_file(const std::string& attempt_dir, int rank, failure::Evidence& evidence);

// Whom we ended ourselves, after the first had failed, has nothing to say by its end.
[[nodiscard]] bool ended_by_us(const EndedRank& ended);

// hw_origin of a verdict.
[[nodiscard]] int origin_of(const failure::Verdict& verdict);

}  // namespace headway::agent
