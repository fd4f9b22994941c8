// Finds the rule that a line of text speaks for. Which rules can match at all is told by literals
// that they require, found in one cheap pass over the line; regular expressions run only for those.
// Immutable after construction; any thread.
#pragma once

#include <re2/filtered_re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "failure/literals.h"
#include "failure/rules.h"

namespace headway::failure {

inline re2::StringPiece piece_of(std::string_view text) {
  return {text.data(), text.size()};
}

[[nodiscard]] inline bool finds(const re2::RE2& pattern, std::string_view text) {
  return pattern.Match(piece_of(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

// Rules that look at one input, and other patterns that want to be found with them.
class RuleIndex {
 public:
  // Rules have the ids 0, 1, … in their order, the further patterns follow. `rules` outlives this.
  RuleIndex(const Rules& rules, Where where, const std::vector<std::string>& more_patterns);

  [[nodiscard]] int rule_count() const { return static_cast<int>(rules_.size()); }
  [[nodiscard]] const Rule& rule(int id) const { return *rules_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const re2::RE2& regexp(int id) const { return regexps_.GetRE2(id); }
  [[nodiscard]] bool matches(int id, std::string_view text) const {
    return finds(regexp(id), text);
  }

  // The literals in `text`, by number; input of candidates().
  void find_literals(std::string_view text, std::vector<int>& literals) const {
    literals_->find(text, literals);
  }
  // All that a line of this shape may hold.
  void find_literals_for(std::string_view shape, std::vector<int>& literals) const {
    shapes_of_literals_->find(shape, literals);
  }
  // What may match a text with these literals: rules with the best first, then further patterns in
  // their order. What needs no literal is always among them.
  [[nodiscard]] std::vector<int> candidates(const std::vector<int>& literals) const;

  // The first rule among `candidates` that matches: the one of the highest priority, the first of
  // equals.
  [[nodiscard]] const Rule* best(std::string_view text, const std::vector<int>& candidates) const;

 private:
  std::vector<const Rule*> rules_;
  re2::FilteredRE2 regexps_;
  std::unique_ptr<LiteralSet> literals_, shapes_of_literals_;
};

class LineRules;

class Scanner {
 public:
  // `rules` outlives the scanner.
  explicit Scanner(const Rules& rules);
  ~Scanner();

  // The rule of the highest priority that matches and looks at `where`; the first of equals.
  [[nodiscard]] const Rule* best(std::string_view text, Where where) const;

  [[nodiscard]] const LineRules& log() const { return *log_; }

 private:
  std::unique_ptr<const LineRules> log_;
  RuleIndex kernel_, scheduler_;
};

}  // namespace headway::failure
