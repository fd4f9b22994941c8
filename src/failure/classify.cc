#include "failure/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <optional>
#include <set>

namespace headway::failure {
namespace {

constexpr int kGenericPriority = 12;  // rules up to it are a last resort
constexpr std::size_t kNever = SIZE_MAX;

// What somebody who is no rank said: the scheduler, or a launcher that quotes it.
struct Said {
  const Rule* rule;
  std::string line;
  std::size_t position;  // kNever: beside the output, not in it
};

struct RankHit {
  int rank;
  const Hit* hit;
};

Verdict verdict_of(const Meaning& meaning, int rank, std::string proof) {
  return {meaning.category,   meaning.role, meaning.origin,   meaning.retryable, meaning.elsewhere,
          meaning.confidence, rank,         std::move(proof), meaning.id,        meaning.next};
}

// A shell and Python report a signal as a code of their own.
int signal_of(const RankExit& exit) {
  if (exit.signal != 0) return exit.signal;
  if (exit.code > 128 && exit.code < 160) return exit.code - 128;
  return exit.code > 224 ? 256 - exit.code : 0;
}

std::string exit_text(const RankExit& exit) {
  return exit.signal != 0 ? fmt::format("ended by signal {}", exit.signal)
                          : fmt::format("exit code {}", exit.code);
}

// One classification; holds what the steps share.
class Case {
 public:
  Case(const Evidence& evidence, const Rules& rules, const Scanner& scanner)
      : evidence_(evidence), rules_(rules) {
    for (std::size_t i = 0; i < evidence.exits.size(); ++i) {
      const RankExit& exit = evidence.exits[i];
      order_[exit.rank] = i;
      exits_[exit.rank] = &exit;
      if (!exit.clean()) failed_.push_back(exit.rank);
    }
    for (const std::string& text : evidence.scheduler) {
      if (const Rule* rule = scanner.best(text, where_scheduler)) {
        scheduler_.push_back({rule, text, kNever});
      }
    }
    for (const std::string& text : evidence.kernel) {
      if (const Rule* rule = scanner.best(text, where_kernel)) {
        kernel_.push_back({rule, text, kNever});
      }
    }
    succeeded_ = !exits_.empty() && failed_.empty() && scheduler_.empty();
    if (!succeeded_) weigh(gather_hits(evidence, rules, scanner));
  }

  [[nodiscard]] Verdict judge() const {
    if (succeeded_) return {"none", Role::none, "none", false, false, 1, kNoRank, "", "-", ""};
    if (auto found = by_scheduler()) return *found;
    if (auto found = by_memory()) return *found;
    const std::optional<RankExitRule> mute = first_mute_cause();
    if (auto found = by_kernel(mute)) return *found;
    if (mute) return verdict_of(*mute->rule, mute->rank, exit_text(*exits_.at(mute->rank)));
    if (cause_) return verdict_of(*cause_->hit->rule, cause_->rank, cause_->hit->line);
    if (auto found = without_cause()) return *found;
    return unknown();
  }

 private:
  struct RankExitRule {
    int rank;
    const ExitRule* rule;
  };
  struct Suspect {
    int rank;
    bool by_counters;
  };

  void weigh(std::map<int, std::vector<Hit>> hits) {
    for (auto& [rank, found] : hits) {
      if (rank == kNoRank) {
        launcher_.insert(launcher_.begin(), found.begin(), found.end());
        continue;
      }
      for (const Hit& hit : found) {
        ((hit.rule->where & where_scheduler) != 0 ? launcher_ : own_[rank]).push_back(hit);
      }
    }
    for (const auto& [rank, found] : own_) {
      const auto exit = exits_.find(rank);
      if (found.empty() || (exit != exits_.end() && exit->second->clean())) continue;
      best_[rank] = &*std::max_element(found.begin(), found.end(), [](const Hit& a, const Hit& b) {
        return std::pair(a.rule->priority, a.position) < std::pair(b.rule->priority, b.position);
      });
    }
    for (const Hit& hit : launcher_) {
      if ((hit.rule->where & where_scheduler) != 0) {
        said_.push_back({hit.rule, hit.line, hit.position});
      }
    }
    said_.insert(said_.begin(), scheduler_.begin(), scheduler_.end());
    find_cause(kGenericPriority + 1);
    if (!cause_) find_cause(INT_MIN);
  }

  // The earliest line among the ranks whose own verdict is a cause.
  void find_cause(int priority_min) {
    for (const auto& [rank, hit] : best_) {
      if (hit->rule->role != Role::cause || hit->rule->priority < priority_min) continue;
      if (!cause_ || hit->position < cause_->hit->position) cause_ = RankHit{rank, hit};
    }
  }

  [[nodiscard]] Verdict unknown() const {
    const int rank = first_failed();
    std::string proof = rank == kNoRank ? std::string() : exit_text(*exits_.at(rank));
    return {"unknown", Role::outcome, "unknown", false, false, 0, rank, std::move(proof), "-", ""};
  }
  [[nodiscard]] int first_failed() const { return failed_.empty() ? kNoRank : failed_.front(); }
  [[nodiscard]] std::size_t ended(int rank) const {
    const auto it = order_.find(rank);
    return it == order_.end() ? kNever : it->second;
  }
  [[nodiscard]] bool is_category(int rank, std::string_view category) const {
    const auto it = best_.find(rank);
    return it != best_.end() && it->second->rule->category == category;
  }

  // Did the causal rank end by itself? Otherwise somebody ended it.
  [[nodiscard]] bool cause_ended_itself() const {
    if (!cause_) return false;
    const auto exit = exits_.find(cause_->rank);
    if (exit == exits_.end()) return false;
    const int signal = signal_of(*exit->second);
    return signal != SIGTERM && signal != SIGKILL && signal != SIGINT;
  }

  // Preemption, a time limit and maintenance win, unless a rank had died by itself before.
  [[nodiscard]] std::optional<Verdict> by_scheduler() const {
    const Said* outcome = nullptr;
    std::size_t when = kNever;
    for (const Said& said : said_) {
      if (said.rule->role != Role::outcome) continue;
      if (outcome == nullptr || said.rule->priority > outcome->rule->priority) outcome = &said;
      when = std::min(when, said.position);
    }
    if (outcome == nullptr) return std::nullopt;
    const bool own = cause_ended_itself();
    const bool yields = outcome->rule->category == "cancelled"
                            ? own
                            : own && when != kNever && cause_->hit->position < when;
    if (yields) return std::nullopt;
    return verdict_of(*outcome->rule, kNoRank, outcome->line);
  }

  // Out of memory needs evidence and a victim.
  [[nodiscard]] std::optional<Verdict> by_memory() const {
    std::vector<Said> proofs;
    const auto keep = [&](const Rule* rule, const std::string& line) {
      if (rule->category == "host_oom") proofs.push_back({rule, line, kNever});
    };
    for (const Said& said : kernel_) keep(said.rule, said.line);
    for (const Said& said : scheduler_) keep(said.rule, said.line);
    for (const Hit& hit : launcher_) keep(hit.rule, hit.line);
    if (proofs.empty()) return std::nullopt;
    int victim = kNoRank;
    for (const int rank : failed_) {
      if (victim == kNoRank && signal_of(*exits_.at(rank)) == SIGKILL) victim = rank;
    }
    std::size_t earliest = kNever;
    for (const auto& [rank, hit] : best_) {
      if (hit->rule->category != "dataloader_killed" || hit->position >= earliest) continue;
      earliest = hit->position;
      victim = rank;
    }
    if (victim == kNoRank) {
      if (cause_ || !exits_.empty()) return std::nullopt;
      return verdict_of(*proofs.front().rule, kNoRank, proofs.front().line);
    }
    const bool explained = cause_ && cause_->rank != victim &&
                           cause_->hit->rule->origin == "user" &&
                           ended(cause_->rank) < ended(victim);
    if (explained) return std::nullopt;
    return verdict_of(*proofs.front().rule, victim, proofs.front().line);
  }

  [[nodiscard]] const ExitRule* exit_rule(int rank) const {
    const RankExit& exit = *exits_.at(rank);
    const int signal = signal_of(exit);
    for (const ExitRule& rule : rules_.exits) {
      if (exit.signal == 0 && rule.code == exit.code) return &rule;
      if (signal != 0 && rule.signal == signal) return &rule;
    }
    return nullptr;
  }

  // A rank that died of a signal without a word, before the one that spoke.
  [[nodiscard]] std::optional<RankExitRule> first_mute_cause() const {
    for (const RankExit& exit : evidence_.exits) {
      if (exit.clean() || best_.contains(exit.rank)) continue;
      const ExitRule* rule = exit_rule(exit.rank);
      if (rule == nullptr || rule->role != Role::cause) continue;
      if (cause_ && ended(exit.rank) >= ended(cause_->rank)) return std::nullopt;
      return RankExitRule{exit.rank, rule};
    }
    return std::nullopt;
  }

  // The kernel's word explains everything but an ordinary error of the program.
  [[nodiscard]] std::optional<Verdict> by_kernel(const std::optional<RankExitRule>& mute) const {
    const Said* most = nullptr;
    for (const Said& said : kernel_) {
      if (said.rule->category == "host_oom") continue;
      if (most == nullptr || said.rule->priority > most->rule->priority) most = &said;
    }
    if (most == nullptr || most->rule->role != Role::cause) return std::nullopt;
    const Rule* own = cause_ ? cause_->hit->rule : nullptr;
    const bool program =
        own != nullptr && own->origin == "user" && own->priority > kGenericPriority;
    if (program || most->rule->priority <= (own != nullptr ? own->priority : 0)) {
      return std::nullopt;
    }
    const int rank = cause_ ? cause_->rank : mute ? mute->rank : suspect().rank;
    return verdict_of(*most->rule, rank, most->line);
  }

  [[nodiscard]] std::optional<Verdict> without_cause() const {
    const Said* node = nullptr;
    for (const Said& said : said_) {
      if (said.rule->category != "node_fail") continue;
      if (node == nullptr || said.rule->priority > node->rule->priority) node = &said;
    }
    if (node != nullptr) return verdict_of(*node->rule, kNoRank, node->line);
    std::optional<RankHit> stopped;
    for (const auto& [rank, hit] : best_) {
      if (hit->rule->role != Role::outcome) continue;
      if (!stopped || hit->position < stopped->hit->position) stopped = RankHit{rank, hit};
    }
    if (stopped) return verdict_of(*stopped->hit->rule, stopped->rank, stopped->hit->line);
    const Said* hung = nullptr;
    for (const Said& said : scheduler_) {
      if (hung == nullptr && said.rule->role == Role::symptom) hung = &said;
    }
    const int first = first_failed();
    if (first != kNoRank && !best_.contains(first) && hung == nullptr) {
      if (const ExitRule* rule = exit_rule(first)) {
        return verdict_of(*rule, first, exit_text(*exits_.at(first)));
      }
      if (others_only_lost_a_peer()) return unknown();
    }
    if (hung != nullptr) {
      return verdict_of(*hung->rule, best_.empty() ? kNoRank : suspect().rank, hung->line);
    }
    return by_symptom();
  }

  // Who ended first, by itself and without a word, is the peer that they lost.
  [[nodiscard]] bool others_only_lost_a_peer() const {
    const auto lost = [](const Hit& hit) {
      const std::string& category = hit.rule->category;
      return hit.rule->role != Role::symptom || category == "gloo_connection" ||
             category == "nccl_remote_error" || category == "connection_error";
    };
    return !best_.empty() && std::all_of(best_.begin(), best_.end(), [&](const auto& b) {
      return lost(*b.second);
    }) && std::all_of(launcher_.begin(), launcher_.end(), lost);
  }

  // The symptom of the highest priority, the earliest of equals, laid at the suspect's door.
  [[nodiscard]] std::optional<Verdict> by_symptom() const {
    const Suspect lagging = suspect();
    std::optional<RankHit> most;
    const auto weigh_one = [&](int rank, const Hit& hit) {
      if (hit.rule->role != Role::symptom) return;
      if (lagging.by_counters && hit.rule->category != "collective_timeout") return;
      const bool wins =
          !most || hit.rule->priority > most->hit->rule->priority ||
          (hit.rule->priority == most->hit->rule->priority && hit.position < most->hit->position);
      if (wins) most = RankHit{rank, &hit};
    };
    for (const auto& [rank, hit] : best_) weigh_one(rank, *hit);
    for (const Hit& hit : launcher_) weigh_one(kNoRank, hit);
    if (!most) return std::nullopt;
    int rank = lagging.rank;
    if (most->rank == kNoRank && !lagging.by_counters) {
      static const re2::RE2 kNamed(R"(\brank:? (\d+)\b)", pattern_options());
      rank = kNoRank;
      re2::RE2::PartialMatch(most->hit->line, kNamed, &rank);
    }
    return verdict_of(*most->hit->rule, rank, most->hit->line);
  }

  // Who lags behind by its own counters, else who alone shows no timeout, else who spoke first.
  [[nodiscard]] Suspect suspect() const {
    static const re2::RE2 kWork(
        R"(last enqueued (?:NCCL )?work: (\d+), last completed (?:NCCL )?work: (\d+))",
        pattern_options());
    std::map<int, std::pair<long long, long long>> work;
    std::set<int> known;
    for (const auto& [rank, exit] : exits_) known.insert(rank);
    int rank_before = kNoRank;
    each_line(evidence_, true, [&](const LineView& line) {
      if (line.rank == kNoRank) return;
      if (line.rank != rank_before) known.insert(line.rank);
      rank_before = line.rank;
      if (line.text.find("last enqueued") == std::string_view::npos) return;
      std::pair<long long, long long> at;
      if (re2::RE2::PartialMatch(piece_of(line.text), kWork, &at.first, &at.second)) {
        work[line.rank] = at;
      }
    });
    const auto only_one_without = [&](const auto& ranks) {
      std::vector<int> rest;
      for (const int rank : known) {
        if (!ranks.contains(rank)) rest.push_back(rank);
      }
      return rest.size() == 1 ? std::optional(rest.front()) : std::nullopt;
    };
    if (!work.empty()) {
      const auto low = std::min_element(work.begin(), work.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      });
      const auto alone = std::count_if(work.begin(), work.end(),
                                       [&](const auto& w) { return w.second == low->second; });
      if (alone == 1 && work.size() > 1) return {low->first, true};
      if (const auto rank = only_one_without(work)) return {*rank, true};
    }
    std::set<int> timed;
    for (const auto& [rank, hit] : best_) {
      const std::string& category = hit->rule->category;
      if (category == "collective_timeout" || category == "hang" ||
          category == "rendezvous_timeout") {
        timed.insert(rank);
      }
    }
    if (!timed.empty() && known.size() > 1) {
      if (const auto rank = only_one_without(timed)) return {*rank, !work.empty()};
      const bool all_wait = std::includes(timed.begin(), timed.end(), known.begin(), known.end());
      if (timed.size() > 1 && all_wait) return {kNoRank, !work.empty()};  // none of them is the one
    }
    std::optional<RankHit> first;
    for (const auto& [rank, hit] : best_) {
      if (!first || hit->position < first->hit->position) first = RankHit{rank, hit};
    }
    return {first ? first->rank : first_failed(), !work.empty()};
  }

  const Evidence& evidence_;
  const Rules& rules_;
  bool succeeded_ = false;
  std::map<int, std::size_t> order_;
  std::map<int, const RankExit*> exits_;
  std::vector<int> failed_;  // in order
  std::vector<Said> scheduler_, kernel_, said_;
  std::vector<Hit> launcher_;
  std::map<int, std::vector<Hit>> own_;
  std::map<int, const Hit*> best_;  // what each rank's output says, in one line
  std::optional<RankHit> cause_;
};

}  // namespace

Verdict Classifier::classify(const Evidence& evidence) const {
  return Case(evidence, rules_, scanner_).judge();
}

}  // namespace headway::failure
