#include "failure/scanner.h"

#include <algorithm>
#include <climits>

#include "base/check.h"
#include "failure/line_rules.h"
#include "failure/line_shape.h"

namespace headway::failure {
namespace {

std::vector<const Rule*> rules_for(const Rules& rules, Where where) {
  std::vector<const Rule*> found;
  for (const Rule& rule : rules.rules) {
    if ((rule.where & where) != 0) found.push_back(&rule);
  }
  return found;
}

}  // namespace

RuleIndex::RuleIndex(const Rules& rules, Where where, const std::vector<std::string>& more_patterns)
    : rules_(rules_for(rules, where)), regexps_(static_cast<int>(LiteralSet::literal_bytes_min)) {
  const auto add = [&](const std::string& pattern) {
    int id = 0;
    HW_CHECK(regexps_.Add(pattern, pattern_options(), &id) == re2::RE2::NoError);
  };
  for (const Rule* rule : rules_) add(rule->pattern);
  for (const std::string& pattern : more_patterns) add(pattern);
  std::vector<std::string> literals;
  if (regexps_.NumRegexps() > 0) regexps_.Compile(&literals);
  literals_ = std::make_unique<LiteralSet>(literals);
  for (std::string& literal : literals) shape_of(std::string(literal), literal);
  shapes_of_literals_ = std::make_unique<LiteralSet>(std::move(literals));
}

std::vector<int> RuleIndex::candidates(const std::vector<int>& literals) const {
  std::vector<int> ids;
  if (regexps_.NumRegexps() == 0) return ids;
  regexps_.AllPotentials(literals, &ids);
  const auto priority = [&](int id) { return id < rule_count() ? rule(id).priority : INT_MIN; };
  std::sort(ids.begin(), ids.end(), [&](int a, int b) {
    return std::pair(-static_cast<long>(priority(a)), a) <
           std::pair(-static_cast<long>(priority(b)), b);
  });
  return ids;
}

const Rule* RuleIndex::best(std::string_view text, const std::vector<int>& candidates) const {
  for (const int id : candidates) {
    if (id < rule_count() && matches(id, text)) return &rule(id);
  }
  return nullptr;
}

Scanner::Scanner(const Rules& rules)
    : log_(std::make_unique<LineRules>(rules)),
      kernel_(rules, where_kernel, {}),
      scheduler_(rules, where_scheduler, {}) {}

Scanner::~Scanner() = default;

const Rule* Scanner::best(std::string_view text, Where where) const {
  const RuleIndex& index = where == where_kernel      ? kernel_
                           : where == where_scheduler ? scheduler_
                                                      : log_->index();
  std::vector<int> literals;
  index.find_literals(text, literals);
  return index.best(text, index.candidates(literals));
}

}  // namespace headway::failure
