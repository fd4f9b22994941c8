// Why a cache missed: the most similar key that was asked for before, and what is different.
#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "compile/trace_job.h"

namespace headway::compile {
namespace {

// How many earlier keys of a kind are looked at: the last ones with the same graph, and of the same
// function. What has neither in common differs in everything, which explains nothing.
constexpr std::size_t kCandidates = 16;

struct Candidate {
  AskRef ref;
  bool in_other = false;
  const CacheAsk* ask = nullptr;
};

using Recent = std::deque<Candidate>;

void remember(Recent& recent, const Candidate& candidate) {
  recent.push_back(candidate);
  if (recent.size() > kCandidates) recent.pop_front();
}

class Search {
 public:
  explicit Search(const ComponentTable& table) : table_(table) {}

  void add(const Candidate& candidate, const Compile& compile) {
    const CacheAsk& ask = *candidate.ask;
    if (ask.components.empty()) return;
    remember(by_graph_[key_of(ask, ask.components.front())], candidate);
    remember(by_function_[function_of(ask, compile)], candidate);
  }

  // The one with the fewest differences; of equals the last. Not of the same compilation: its
  // forward tells nothing about its backward.
  [[nodiscard]] std::optional<Candidate> nearest(const AskRef& ref, const CacheAsk& ask,
                                                 const Compile& compile) const {
    std::optional<Candidate> best;
    std::size_t least = SIZE_MAX;
    const auto look = [&](const Recent& recent) {
      for (const Candidate& candidate : recent) {
        const bool itself = !candidate.in_other && candidate.ref.log == ref.log &&
                            candidate.ref.compile == ref.compile;
        if (itself) continue;
        const std::size_t distance = table_.distance(candidate.ask->components, ask.components);
        if (distance > least) continue;
        least = distance;
        best = candidate;
      }
    };
    if (const auto at = by_function_.find(function_of(ask, compile)); at != by_function_.end()) {
      look(at->second);
    }
    if (const auto at = by_graph_.find(key_of(ask, ask.components.front()));
        at != by_graph_.end()) {
      look(at->second);
    }
    return best;
  }

 private:
  static std::size_t index(const CacheAsk& ask) { return static_cast<std::size_t>(ask.kind); }
  // The graph is the first component.
  static std::uint64_t key_of(const CacheAsk& ask, std::uint32_t graph) {
    return (static_cast<std::uint64_t>(ask.kind) << 32) | graph;
  }
  static std::string function_of(const CacheAsk& ask, const Compile& compile) {
    return std::to_string(index(ask)) + compile.file + ":" + std::to_string(compile.line) + " " +
           compile.name;
  }

  const ComponentTable& table_;
  std::unordered_map<std::uint64_t, Recent> by_graph_;
  std::unordered_map<std::string, Recent> by_function_;
};

// Ranks that start together ask for the same key, and the second finds nothing yet.
bool is_being_made(const MissCause& cause, const Candidate& nearest, const CacheAsk& ask) {
  if (!cause.changes.empty() || nearest.in_other || nearest.ref.log == cause.miss.log) return false;
  const CacheAsk& other = *nearest.ask;
  return other.outcome == CacheOutcome::miss && other.looked_us + other.taken_us > ask.looked_us;
}

// One ask of one of `logs`.
struct Asked {
  AskRef ref;
  const Compile* compile = nullptr;
  const CacheAsk* ask = nullptr;
};

// In the order of time, as far as it is told: what a rank asked for later explains nothing.
std::vector<Asked> in_order(const std::vector<ProcessLog>& logs) {
  std::vector<Asked> out;
  for (std::size_t log = 0; log < logs.size(); ++log) {
    for (std::size_t i = 0; i < logs[log].compiles.size(); ++i) {
      const Compile& compile = logs[log].compiles[i];
      for (std::size_t ask = 0; ask < compile.asks.size(); ++ask) {
        out.push_back({{log, i, ask}, &compile, &compile.asks[ask]});
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Asked& a, const Asked& b) {
    return a.ask->looked_us < b.ask->looked_us;
  });
  return out;
}

}  // namespace

std::vector<MissCause> explain_misses(const TraceJob& job) {
  Search search(job.components);
  for (const Asked& one : in_order(job.other)) search.add({one.ref, true, one.ask}, *one.compile);
  std::vector<MissCause> out;
  for (const Asked& one : in_order(job.logs)) {
    const CacheAsk& ask = *one.ask;
    if (ask.outcome == CacheOutcome::miss && !ask.components.empty()) {
      MissCause cause;
      cause.miss = one.ref;
      if (const auto found = search.nearest(one.ref, ask, *one.compile)) {
        cause.has_nearest = true;
        cause.in_other = found->in_other;
        cause.nearest = found->ref;
        cause.changes = job.components.changes(found->ask->components, ask.components);
        cause.being_made = is_being_made(cause, *found, ask);
      }
      out.push_back(std::move(cause));
    }
    search.add({one.ref, false, one.ask}, *one.compile);
  }
  std::sort(out.begin(), out.end(), [](const MissCause& a, const MissCause& b) {
    return std::tie(a.miss.log, a.miss.compile, a.miss.ask) <
           std::tie(b.miss.log, b.miss.compile, b.miss.ask);
  });
  return out;
}

}  // namespace headway::compile
