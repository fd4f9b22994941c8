// Why a job failed: evidence in, a verdict out. tests/failure/README.md says the steps and
// tests/failure/reference.py is the same in its plainest form. Pure; any thread.
#pragma once

#include <string>

#include "failure/evidence.h"
#include "failure/rules.h"
#include "failure/scanner.h"

namespace headway::failure {

struct Verdict {
  std::string category;  // "none": it did not fail; "unknown": nothing tells
  Role role = Role::none;
  std::string origin;
  bool retryable = false;
  bool elsewhere = false;
  double confidence = 0;
  int rank = kNoRank;  // the causal one
  std::string proof;   // the line that says so
  std::string rule;    // its id
  std::string next;
};

class Classifier {
 public:
  explicit Classifier(Rules rules) : rules_(std::move(rules)), scanner_(rules_) {}
  Classifier(const Classifier&) = delete;
  Classifier& operator=(const Classifier&) = delete;

  [[nodiscard]] Verdict classify(const Evidence& evidence) const;
  // Does a rule look for such a line in the kernel's log?
  [[nodiscard]] bool knows_kernel_line(std::string_view line) const {
    return scanner_.best(line, where_kernel) != nullptr;
  }

 private:
  const Rules rules_;
  const Scanner scanner_;
};

}  // namespace headway::failure
