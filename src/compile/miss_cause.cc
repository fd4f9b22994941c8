// Why a cache missed: the most similar key that was asked for before, and what is different.
#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "compile/trace_job.h"

namespace headway::compile {
namespace {

// How many earlier keys of a kind are looked at: the last ones with the same graph, of the same
// function, and of all.
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
    remember(all_[index(ask)], candidate);
    remember(by_graph_[key_of(ask, ask.components.front())], candidate);
    remember(by_function_[function_of(ask, compile)], candidate);
  }

  // The one with the fewest differences; of equals the last.
  [[nodiscard]] std::optional<Candidate> nearest(const CacheAsk& ask,
                                                 const Compile& compile) const {
    std::optional<Candidate> best;
    std::size_t least = SIZE_MAX;
    const auto look = [&](const Recent& recent) {
      for (const Candidate& candidate : recent) {
        const std::size_t distance = table_.distance(candidate.ask->components, ask.components);
        if (distance > least) continue;
        least = distance;
        best = candidate;
      }
    };
    look(all_[index(ask)]);
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
  Recent all_[2];
  std::unordered_map<std::uint64_t, Recent> by_graph_;
  std::unordered_map<std::string, Recent> by_function_;
};

}  // namespace

std::vector<MissCause> explain_misses(const TraceJob& job) {
  Search search(job.components);
  const auto each = [](const std::vector<ProcessLog>& logs, const auto& what) {
    for (std::size_t log = 0; log < logs.size(); ++log) {
      for (std::size_t i = 0; i < logs[log].compiles.size(); ++i) {
        const Compile& compile = logs[log].compiles[i];
        for (std::size_t ask = 0; ask < compile.asks.size(); ++ask) {
          what(AskRef{log, i, ask}, compile, compile.asks[ask]);
        }
      }
    }
  };
  each(job.other, [&](const AskRef& ref, const Compile& compile, const CacheAsk& ask) {
    search.add({ref, true, &ask}, compile);
  });
  std::vector<MissCause> out;
  each(job.logs, [&](const AskRef& ref, const Compile& compile, const CacheAsk& ask) {
    if (ask.outcome == CacheOutcome::miss && !ask.components.empty()) {
      MissCause cause;
      cause.miss = ref;
      if (const auto found = search.nearest(ask, compile)) {
        cause.has_nearest = true;
        cause.in_other = found->in_other;
        cause.nearest = found->ref;
        cause.changes = job.components.changes(found->ask->components, ask.components);
      }
      out.push_back(std::move(cause));
    }
    search.add({ref, false, &ask}, compile);
  });
  return out;
}

}  // namespace headway::compile
