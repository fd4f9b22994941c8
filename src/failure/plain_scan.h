// For tests: gather_hits() in its plainest form. Every pattern runs on every line, rules as one
// RE2 set; no literals, nothing remembered for later. The fast one must agree with it.
#pragma once

#include <re2/set.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "failure/evidence.h"
#include "failure/line_rules.h"

namespace headway::failure {

class PlainScanner {
 public:
  PlainScanner(const Rules& rules, Where where) : set_(pattern_options(), re2::RE2::UNANCHORED) {
    for (const Rule& rule : rules.rules) {
      if ((rule.where & where) == 0) continue;
      HW_CHECK(set_.Add(rule.pattern, nullptr) == static_cast<int>(rules_.size()));
      rules_.push_back(&rule);
    }
    HW_CHECK(set_.Compile());
  }

  [[nodiscard]] const Rule* best(std::string_view text) const {
    std::vector<int> found;
    if (!set_.Match(piece_of(text), &found)) return nullptr;
    const Rule* best = nullptr;
    for (const int index : found) {
      const Rule* rule = rules_[static_cast<std::size_t>(index)];
      const bool wins = best == nullptr || rule->priority > best->priority ||
                        (rule->priority == best->priority && rule < best);
      if (wins) best = rule;
    }
    return best;
  }

 private:
  re2::RE2::Set set_;
  std::vector<const Rule*> rules_;
};

struct PlainRank {
  std::vector<Hit> alive;
  std::map<std::string, std::string> counters;
  int moved = 0;
  bool in_noise = false;

  void look_for_progress(const std::string& text, const Rules& rules) {
    for (const Progress& progress : rules.progress) {
      std::string value;
      if (!re2::RE2::PartialMatch(text, *progress.pattern, &value)) continue;
      const auto known = counters.find(progress.id);
      const bool changed = known == counters.end() ? counters.empty() : known->second != value;
      if (changed) {
        ++moved;
        std::erase_if(alive, [&](const Hit& h) { return moved - h.moved >= progress.changes; });
      }
      counters[progress.id] = value;
      return;
    }
  }
};

inline std::map<int, std::vector<Hit>> gather_plainly(const Evidence& evidence, const Rules& rules,
                                                      const PlainScanner& scanner) {
  std::map<int, PlainRank> ranks;
  std::size_t next = 0;
  each_line(evidence, false, [&](const LineView& line) {
    const std::size_t position = next++;
    PlainRank& rank = ranks[line.rank];
    std::string text(line.text);
    for (const auto& prefix : rules.prefixes) re2::RE2::Replace(&text, *prefix, "");
    if (rank.in_noise) {
      const bool goes_on =
          text.empty() || is_indented(text) || text.starts_with("Traceback (most recent");
      rank.in_noise = goes_on;
      return;
    }
    const Noise* noise = nullptr;
    for (const Noise& candidate : rules.noise) {
      if (noise == nullptr && finds(*candidate.pattern, text)) noise = &candidate;
    }
    if (noise != nullptr && noise->block) {
      rank.in_noise = true;
      return;
    }
    const Rule* rule = noise != nullptr ? nullptr : scanner.best(text);
    if (rule != nullptr) {
      rank.alive.push_back({rule, position, std::string(line.text), rank.moved});
    } else if (!is_indented(text)) {
      rank.look_for_progress(text, rules);
    }
  });
  std::map<int, std::vector<Hit>> hits;
  for (auto& [rank, scan] : ranks) hits[rank] = std::move(scan.alive);
  return hits;
}

}  // namespace headway::failure
