// Where the ranks of a job did not compile the same: it costs the others a wait at the next
// collective, and a cache that was filled by one of them does not serve the rest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compile/trace_job.h"

namespace headway::compile {
namespace {

// What one rank compiled under an id. A graph is known by its size and its text: keys hold the
// rank's device.
struct Seen {
  const Compile* compile = nullptr;
  std::string function;
  std::pair<std::int64_t, std::int64_t> size;
};

// Its text is no matter where it was not told of all: a log may be cut off before it.
bool all_texts_told(const std::map<std::int32_t, Seen>& by_rank) {
  return std::ranges::none_of(by_rank,
                              [](const auto& one) { return one.second.compile->graph.empty(); });
}

// The value that most ranks have, and those that have another.
template <typename T>
std::vector<std::int32_t> minority(const std::map<std::int32_t, Seen>& by_rank, T value_of) {
  std::map<decltype(value_of(by_rank.begin()->second)), std::vector<std::int32_t>> groups;
  for (const auto& [rank, seen] : by_rank) groups[value_of(seen)].push_back(rank);
  if (groups.size() < 2) return {};
  const auto most = std::max_element(
      groups.begin(), groups.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::int32_t> out;
  for (auto at = groups.begin(); at != groups.end(); ++at) {
    if (at != most) out.insert(out.end(), at->second.begin(), at->second.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string what_of(const Compile& compile) {
  if (compile.name.empty()) return "?";
  const std::size_t slash = compile.file.rfind('/');
  const std::string file =
      slash == std::string::npos ? compile.file : compile.file.substr(slash + 1);
  return file.empty() ? compile.name : fmt::format("{} ({}:{})", compile.name, file, compile.line);
}

std::vector<Divergence> compare_ranks(const TraceJob& job) {
  // Of a rank that was started several times the last run counts. A log of which only a part is
  // kept says nothing of what is not there.
  std::map<std::int32_t, const ProcessLog*> runs;
  for (const ProcessLog& log : job.logs) {
    if (log.rank >= 0 && !log.compiles.empty() && log.has_all) runs[log.rank] = &log;
  }
  std::vector<Divergence> out;
  if (runs.size() < 2) return out;
  std::map<CompileId, std::map<std::int32_t, Seen>> by_id;
  for (const auto& [rank, log] : runs) {
    for (const Compile& compile : log->compiles) {
      by_id[compile.id][rank] = {&compile, what_of(compile), {compile.ops, compile.inputs}};
    }
  }
  for (const auto& [id, by_rank] : by_id) {
    const std::string what = by_rank.begin()->second.function;
    if (by_rank.size() < runs.size()) {
      std::vector<std::int32_t> without;
      std::vector<std::int32_t> with;
      for (const auto& [rank, log] : runs)
        (by_rank.contains(rank) ? with : without).push_back(rank);
      const bool few = with.size() < without.size();
      out.push_back({id, what, few ? "compiled by these only" : "not compiled by these",
                     few ? with : without});
    }
    if (auto ranks = minority(by_rank, [](const Seen& s) { return s.function; }); !ranks.empty()) {
      out.push_back({id, what, "another function", std::move(ranks)});
      continue;
    }
    const bool texts = all_texts_told(by_rank);
    if (auto ranks = minority(
            by_rank,
            [&](const Seen& s) { return std::pair(s.size, texts ? s.compile->graph : ""); });
        !ranks.empty()) {
      out.push_back({id, what, "another graph", std::move(ranks)});
    }
  }
  return out;
}

}  // namespace headway::compile
