// What there is to judge a failure by, and what each rank's output says of it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "failure/rules.h"
#include "failure/scanner.h"

namespace headway::failure {

inline constexpr int kNoRank = -1;  // the launcher's or the scheduler's own words

struct RankExit {
  int rank = 0;
  int code = 0;
  int signal = 0;
  [[nodiscard]] bool clean() const { return code == 0 && signal == 0; }
};

struct OutputLine {
  int rank = kNoRank;
  std::string text;
};

// torchrun's error file.
struct ErrorFile {
  int rank = 0;
  double time_s = 0;
  std::string message;
};

struct Evidence {
  std::vector<RankExit> exits;  // in the order in which ranks ended; who is missing still ran
  std::vector<OutputLine> lines;
  std::vector<ErrorFile> error_files;
  std::vector<std::string> scheduler;  // "state=PREEMPTED"
  std::vector<std::string> kernel;     // the kernel's log, and "cgroup oom_kill=1"
};

// A line that a rule matched and that nothing has disproved.
struct Hit {
  const Rule* rule = nullptr;
  std::size_t position = 0;
  std::string line;
  int moved = 0;  // progress of the rank up to it
};

// All lines in order: the output, then error files by their time.
[[nodiscard]] std::vector<OutputLine> lines_in_order(const Evidence& evidence);

// By rank. What a rank survived (it went on to train) did not kill it, and is left out.
[[nodiscard]] std::map<int, std::vector<Hit>> gather_hits(const std::vector<OutputLine>& lines,
                                                          const Rules& rules,
                                                          const Scanner& scanner);

}  // namespace headway::failure
