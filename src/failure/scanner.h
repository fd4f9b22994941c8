// Finds what a text says: one pass of one RE2 set over each line, however many rules there are.
// Immutable after construction; any thread.
#pragma once

#include <re2/set.h>

#include <memory>
#include <string_view>
#include <vector>

#include "failure/rules.h"

namespace headway::failure {

class Scanner {
 public:
  // `rules` outlives the scanner.
  explicit Scanner(const Rules& rules);

  // The rule of the highest priority that matches and looks at `where`; the first of equals.
  [[nodiscard]] const Rule* best(std::string_view text, Where where) const;

 private:
  // Rules that look at one input. In a set of their own: a log line is matched with log rules only.
  struct Group {
    std::unique_ptr<re2::RE2::Set> set;
    std::vector<const Rule*> rules;  // by the set's index
  };
  [[nodiscard]] const Group& group(Where where) const;

  Group log_, kernel_, scheduler_;
};

}  // namespace headway::failure
