// What there is to judge a failure by, and what each rank's output says of it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "failure/lines.h"
#include "failure/rules.h"
#include "failure/scanner.h"

namespace headway::failure {

struct RankExit {
  int rank = 0;
  int code = 0;
  int signal = 0;
  [[nodiscard]] bool clean() const { return code == 0 && signal == 0; }
};

// A log as a whole. Nothing is copied out of it.
struct Log {
  int rank = kNoRank;  // of lines that do not say whose they are
  std::string text;
  bool mixed = false;  // lines of several ranks, told by their marks: see attribute_line()
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
  std::vector<Log> logs;
  std::vector<OutputLine> lines;  // single lines, behind those of the logs
  std::vector<ErrorFile> error_files;
  std::vector<std::string> scheduler;  // "state=PREEMPTED"
  std::vector<std::string> kernel;     // the kernel's log, and "cgroup oom_kill=1"
};

[[nodiscard]] std::vector<const ErrorFile*> files_by_time(const Evidence& evidence);

// A line that a rule matched and that nothing has disproved.
struct Hit {
  const Rule* rule = nullptr;
  std::size_t position = 0;
  std::string line;
  int moved = 0;  // progress of the rank up to it, counted from anywhere
};

// Calls take(LineView) for all lines in order: those of the logs, single lines, and, unless
// `output_only`, those of the error files by their time. Views into `evidence`.
template <typename Take>
void each_line(const Evidence& evidence, bool output_only, const Take& take) {
  for (const Log& log : evidence.logs) each_line(log.text, log.rank, log.mixed, take);
  for (const OutputLine& line : evidence.lines) take(LineView{line.rank, line.text});
  if (output_only) return;
  for (const ErrorFile* file : files_by_time(evidence)) {
    each_line(file->message, file->rank, false, take);
  }
}

// By rank. What a rank survived (it went on to train) did not kill it, and is left out.
[[nodiscard]] std::map<int, std::vector<Hit>> gather_hits(const Evidence& evidence,
                                                          const Rules& rules,
                                                          const Scanner& scanner);

}  // namespace headway::failure
