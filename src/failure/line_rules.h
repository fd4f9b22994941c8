// What is asked of a line of a log beside the rules: which prefix to cut off, whether it is noise
// or shows progress. All patterns are in one index, so that one pass over the line's literals tells
// which of them are worth asking. Immutable after construction; any thread.
#pragma once

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "failure/rules.h"
#include "failure/scanner.h"

namespace headway::failure {

[[nodiscard]] inline bool is_indented(std::string_view text) {
  return text.starts_with(' ') || text.starts_with('\t');
}

// What may match a line with certain literals.
struct Candidates {
  std::vector<int> rules;  // best first; without those that need no literal
  std::vector<int> noise;
  std::vector<int> prefixes;
  std::uint64_t progress = 0;  // by bit
  bool special = false;        // a prefix or a block of noise is among them, by a literal
};

class LineRules {
 public:
  explicit LineRules(const Rules& rules);  // outlives this

  [[nodiscard]] const RuleIndex& index() const { return index_; }
  [[nodiscard]] Candidates candidates(const std::vector<int>& literals) const;

  // False: no prefix, block of noise or rule that needs no literal matches the line. Most lines
  // are told by their first byte.
  [[nodiscard]] bool has_special_head(std::string_view line) const {
    return line.empty() || heads_[static_cast<std::uint8_t>(line.front())] ? head_matches(line)
                                                                           : false;
  }
  // All lines of a shape have the same answer to has_special_head().
  [[nodiscard]] bool head_ignores_digits() const { return head_ignores_digits_; }
  // Rules that need no literal, best first.
  [[nodiscard]] const std::vector<int>& rules_without_literals() const { return always_; }

  // `scratch` keeps the text where a prefix was not at the very beginning.
  [[nodiscard]] std::string_view without_prefixes(std::string_view line, const Candidates& among,
                                                  std::string& scratch) const;
  // The first of the rules of noise that matches.
  [[nodiscard]] const Noise* noise_in(std::string_view text, const Candidates& among) const;

  // True: no line of the shape of `text`, which has nothing special, is evidence: it is noise, or
  // none of the rules matches it.
  [[nodiscard]] bool is_quiet_shape(std::string_view text, const Candidates& among) const;

  // A bit for each kind of progress; the last is shared by all that are too many.
  static constexpr int shared_progress_bit = 63;
  [[nodiscard]] static std::uint64_t progress_bit(int kind) {
    return std::uint64_t{1} << (kind < shared_progress_bit ? kind : shared_progress_bit);
  }

 private:
  [[nodiscard]] bool head_matches(std::string_view line) const;
  void gather_heads();
  void generalise();

  const Rules& rules_;
  const RuleIndex index_;  // rules, then progress, noise, prefixes
  const int noise_at_, prefixes_at_;
  std::vector<int> always_;
  std::unique_ptr<re2::RE2> head_;  // null: too large for one expression, so any line may match
  std::array<bool, 256> heads_{};   // bytes that a match of head_ may begin with
  bool head_ignores_digits_ = true;
  // By id. For rules that ask for certain digits: their patterns for any digits; null for others.
  std::vector<std::unique_ptr<re2::RE2>> for_any_digits_;
};

}  // namespace headway::failure
