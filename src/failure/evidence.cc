#include "failure/evidence.h"

#include <algorithm>
#include <unordered_map>

#include "failure/line_rules.h"
#include "failure/line_shape.h"
#include "failure/rank_scan.h"

namespace headway::failure {
namespace {

// One pass over many lines. Remembers which literals lead to which candidates: lines of a log are
// alike, and there are few such combinations.
class Gatherer {
 public:
  Gatherer(const Rules& rules, const LineRules& log) : rules_(rules), log_(log) {}

  void take(const LineView& line) {
    const std::size_t position = position_++;
    RankScan& scan = scan_of(line.rank);
    const auto& [among, special, may_hit] = kind_of(line.text);
    if (!may_hit && among.progress == 0 && !scan.in_noise) return;
    const std::string_view text =
        special ? log_.without_prefixes(line.text, among, scratch_) : line.text;
    if (scan.still_noise(text)) return;
    const Noise* noise = may_hit ? log_.noise_in(text, among) : nullptr;
    if (noise != nullptr && noise->block) {
      scan.in_noise = true;
      return;
    }
    const Rule* rule = may_hit && noise == nullptr ? best(text, among, special) : nullptr;
    if (rule != nullptr) {
      scan.hit({rule, position, std::string(line.text), 0});
      return;
    }
    if (among.progress != 0 && !is_indented(text)) {
      // A view of the scratch does not last.
      const bool lasts = text.data() + text.size() == line.text.data() + line.text.size();
      scan.look_for_progress(text, among.progress, lasts);
    }
  }

  [[nodiscard]] std::map<int, std::vector<Hit>> hits() {
    std::map<int, std::vector<Hit>> hits;
    for (auto& [rank, scan] : scans_) hits[rank] = std::move(scan.alive);
    return hits;
  }

 private:
  static constexpr std::size_t combinations_max = 4096;
  static constexpr std::size_t shapes_max = 4096;
  static constexpr std::size_t shape_bytes_max = 512;
  static constexpr int strangers_max = 16;
  struct KnownShape {
    std::string shape;
    const Candidates* among = nullptr;  // null: seen once
    int strangers = 0;  // lines of another shape in this place, since the last of it
    bool head = false;
    bool quiet = false;  // see is_quiet_shape()
  };
  struct Kind {
    const Candidates& among;
    bool special;
    bool may_hit;  // a rule may match
  };
  struct HashOfLiterals {
    std::size_t operator()(const std::vector<int>& literals) const {
      std::size_t hash = 0;
      for (const int literal : literals) {
        hash = (hash ^ static_cast<std::size_t>(literal)) * 0x9E3779B97F4A7C15u;
      }
      return hash ^ (hash >> 32);
    }
  };

  RankScan& scan_of(int rank) {
    if (last_ == nullptr || rank != last_rank_) {
      last_ = &scans_.try_emplace(rank, rules_).first->second;
      last_rank_ = rank;
    }
    return *last_;
  }

  const Rule* best(std::string_view text, const Candidates& among, bool special) const {
    const RuleIndex& index = log_.index();
    const Rule* a = index.best(text, among.rules);
    const Rule* b = special ? index.best(text, log_.rules_without_literals()) : nullptr;
    if (a == nullptr || b == nullptr) return a != nullptr ? a : b;
    return std::pair(-a->priority, a) < std::pair(-b->priority, b) ? a : b;
  }

  // Of literals_.
  const Candidates& candidates() {
    if (literals_.empty()) return of_no_literal_;
    const auto known = by_literals_.find(literals_);
    if (known != by_literals_.end()) return known->second;
    if (by_literals_.size() >= combinations_max) {
      for (KnownShape& shape : by_shape_) shape.among = nullptr;
      by_literals_.clear();
    }
    return by_literals_.emplace(literals_, log_.candidates(literals_)).first->second;
  }

  Kind kind_by_itself(std::string_view line) {
    log_.index().find_literals(line, literals_);
    const Candidates& among = candidates();
    const bool special = among.special || log_.has_special_head(line);
    return {among, special, special || !among.rules.empty()};
  }

  // Most lines have the shape of an earlier one. A shape that is seen for the second time is worth
  // finding out what holds for all its lines.
  Kind kind_of(std::string_view line) {
    if (line.size() > shape_bytes_max) return kind_by_itself(line);
    const std::uint64_t hash = shape_of(line, shape_);
    KnownShape& known = by_shape_[hash % shapes_max];
    if (known.shape != shape_) {
      // Lines that come once must not drive out those that come often.
      if (known.among == nullptr || ++known.strangers > strangers_max) {
        known.shape.swap(shape_);
        known.among = nullptr;
      }
      return kind_by_itself(line);
    }
    if (known.among == nullptr) learn(line, known);
    known.strangers = 0;
    if (!log_.head_ignores_digits()) known.head = log_.has_special_head(line);
    const bool special = known.among->special || known.head;
    return {*known.among, special, special || !known.quiet};
  }

  void learn(std::string_view line, KnownShape& known) {
    log_.index().find_literals_for(known.shape, literals_);
    const Candidates& among = candidates();
    known.head = log_.has_special_head(line);
    known.quiet =
        among.rules.empty() || (!among.special && !known.head && log_.is_quiet_shape(line, among));
    known.among = &among;
  }

  const Rules& rules_;
  const LineRules& log_;
  const Candidates of_no_literal_ = log_.candidates({});
  std::size_t position_ = 0;
  std::map<int, RankScan> scans_;
  RankScan* last_ = nullptr;
  int last_rank_ = kNoRank;
  std::vector<int> literals_;
  std::string scratch_;
  std::unordered_map<std::vector<int>, Candidates, HashOfLiterals> by_literals_;
  std::vector<KnownShape> by_shape_ = std::vector<KnownShape>(shapes_max);
  std::string shape_;
};

}  // namespace

std::vector<const ErrorFile*> files_by_time(const Evidence& evidence) {
  std::vector<const ErrorFile*> files;
  for (const ErrorFile& file : evidence.error_files) files.push_back(&file);
  std::stable_sort(files.begin(), files.end(), [](const ErrorFile* a, const ErrorFile* b) {
    return std::pair(a->time_s, a->rank) < std::pair(b->time_s, b->rank);
  });
  return files;
}

std::map<int, std::vector<Hit>> gather_hits(const Evidence& evidence, const Rules& rules,
                                            const Scanner& scanner) {
  Gatherer gatherer(rules, scanner.log());
  each_line(evidence, false, [&](const LineView& line) { gatherer.take(line); });
  return gatherer.hits();
}

}  // namespace headway::failure
