#include "failure/scanner.h"

#include "base/check.h"

namespace headway::failure {

Scanner::Scanner(const Rules& rules) {
  const auto gather = [&](Group& group, Where where) {
    group.set = std::make_unique<re2::RE2::Set>(pattern_options(), re2::RE2::UNANCHORED);
    for (const Rule& rule : rules.rules) {
      if ((rule.where & where) == 0) continue;
      HW_CHECK(group.set->Add(rule.pattern, nullptr) == static_cast<int>(group.rules.size()));
      group.rules.push_back(&rule);
    }
    HW_CHECK(group.set->Compile());
  };
  gather(log_, where_log);
  gather(kernel_, where_kernel);
  gather(scheduler_, where_scheduler);
}

const Scanner::Group& Scanner::group(Where where) const {
  if (where == where_kernel) return kernel_;
  return where == where_scheduler ? scheduler_ : log_;
}

const Rule* Scanner::best(std::string_view text, Where where) const {
  const Group& among = group(where);
  if (among.rules.empty()) return nullptr;
  std::vector<int> found;
  if (!among.set->Match(re2::StringPiece(text.data(), text.size()), &found)) return nullptr;
  const Rule* best = nullptr;
  for (const int index : found) {
    const Rule* rule = among.rules[static_cast<std::size_t>(index)];
    const bool wins = best == nullptr || rule->priority > best->priority ||
                      (rule->priority == best->priority && rule < best);
    if (wins) best = rule;
  }
  return best;
}

}  // namespace headway::failure
