#include "cli/trace_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "cli/human.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr std::size_t kChangesTold = 4;  // of one miss
constexpr std::size_t kChangeBytesMax = 60;

using Groups = std::map<std::string, TraceGroup>;

TraceGroup& group_of(Groups& groups, std::string text, CompileRef at) {
  TraceGroup& group = groups[std::move(text)];
  ++group.count;
  if (group.examples.size() < kGroupExamplesMax &&
      (group.examples.empty() || group.examples.back().log != at.log ||
       group.examples.back().compile != at.compile)) {
    group.examples.push_back(at);
  }
  return group;
}

std::vector<TraceGroup> sorted(Groups groups) {
  std::vector<TraceGroup> out;
  for (auto& [text, group] : groups) {
    group.text = text;
    out.push_back(std::move(group));
  }
  std::stable_sort(out.begin(), out.end(), [](const TraceGroup& a, const TraceGroup& b) {
    return std::pair(-a.us, b.count) < std::pair(-b.us, a.count);
  });
  return out;
}

template <typename What>
void each_compile(const TraceJob& job, const What& what) {
  for (std::size_t log = 0; log < job.logs.size(); ++log) {
    for (std::size_t i = 0; i < job.logs[log].compiles.size(); ++i) {
      what(CompileRef{log, i}, job.logs[log].compiles[i]);
    }
  }
}

// Like reasons of one function are told once: compile ids at their front differ, and so may the
// user's stack below them.
std::string_view guard_of(std::string_view reason) {
  reason = reason.substr(0, reason.find('\n'));
  const std::size_t colon = reason.find(": ");
  if (colon == std::string_view::npos || !parse_compile_id(reason.substr(0, colon))) return reason;
  return reason.substr(colon + 2);
}

std::string changes_text(const MissCause& cause) {
  const std::vector<ComponentChange>& changes = cause.changes;
  if (cause.being_made) return "nothing: the same key, another rank was still compiling it";
  if (changes.empty()) return "nothing: the same key, and its entry was gone";
  std::string out;
  for (std::size_t i = 0; i < std::min(changes.size(), kChangesTold); ++i) {
    const ComponentChange& one = changes[i];
    out += (i == 0 ? "" : ", ") + one.name;
    if (one.was.size() + one.is.size() <= kChangeBytesMax) {
      out += fmt::format(" ({} -> {})", one.was, one.is);
    }
  }
  if (changes.size() > kChangesTold) {
    out += fmt::format(" and {} more", changes.size() - kChangesTold);
  }
  return out;
}

}  // namespace

std::vector<TraceGroup> recompile_groups(const TraceJob& job) {
  Groups groups;
  each_compile(job, [&](CompileRef at, const Compile& c) {
    if (!c.is_recompile()) return;
    const std::string reason =
        c.recompile_reasons.empty() ? "no reason told" : c.recompile_reasons.front();
    TraceGroup& group = group_of(groups, fmt::format("{}: {}", what_of(c), guard_of(reason)), at);
    group.us += c.total_us();
    if (group.note.empty()) group.note = dynamic_text(c);
  });
  return sorted(std::move(groups));
}

std::vector<TraceGroup> break_groups(const TraceJob& job) {
  Groups groups;
  each_compile(job, [&](CompileRef at, const Compile& c) {
    for (const GraphBreak& one : c.breaks) {
      TraceGroup& group = group_of(groups, fmt::format("{}: {}", one.where, one.reason), at);
      if (group.count > 1) continue;
      group.place = one.place;
      group.stack = one.stack;
    }
  });
  return sorted(std::move(groups));
}

std::vector<TraceGroup> specialised_groups(const TraceJob& job) {
  Groups groups;
  each_compile(job, [&](CompileRef at, const Compile& c) {
    for (const Specialised& one : c.specialised) {
      TraceGroup& group = group_of(
          groups, fmt::format("{}: {} is {} ({})", what_of(c), name_of(one), one.value, one.reason),
          at);
      if (group.count == 1) group.stack = one.stack;
    }
  });
  return sorted(std::move(groups));
}

std::vector<TraceGroup> failure_groups(const TraceJob& job) {
  Groups groups;
  each_compile(job, [&](CompileRef at, const Compile& c) {
    if (c.failure.type.empty()) return;
    const std::string reason = c.failure.reason.substr(0, c.failure.reason.find('\n'));
    group_of(groups, fmt::format("{}: {}: {}", what_of(c), c.failure.type, reason), at);
  });
  return sorted(std::move(groups));
}

std::vector<TraceGroup> bypass_groups(const TraceJob& job) {
  Groups groups;
  each_compile(job, [&](CompileRef at, const Compile& c) {
    for (const CacheAsk& ask : c.asks) {
      if (ask.outcome != CacheOutcome::bypass) continue;
      group_of(groups, fmt::format("{} bypassed: {}", name_of(ask.kind), ask.reason), at);
    }
  });
  return sorted(std::move(groups));
}

std::vector<TraceGroup> miss_groups(const TraceJob& job, const std::vector<MissCause>& misses) {
  Groups groups;
  for (const MissCause& cause : misses) {
    if (!cause.has_nearest) continue;
    const Compile& c = job.logs[cause.miss.log].compiles[cause.miss.compile];
    const auto& logs = cause.in_other ? job.other : job.logs;
    const Compile& near = logs[cause.nearest.log].compiles[cause.nearest.compile];
    group_of(groups,
             fmt::format("{} missed; what differs from {}{}: {}", what_of(c), near.id.text(),
                         cause.in_other ? " of the other trace" : "", changes_text(cause)),
             {cause.miss.log, cause.miss.compile});
  }
  return sorted(std::move(groups));
}

std::string name_of(const Specialised& one) {
  return one.sources.empty() ? one.symbol : one.sources;
}

std::string text_of(const ProcessLog& log, const StackNode& call) {
  return fmt::format("{}:{} in {}", log.code.name(call.file), call.line,
                     log.code.name(call.function));
}

void add(Stages& sum, const Stages& one) {
  sum.dynamo_us += one.dynamo_us;
  sum.aot_us += one.aot_us;
  sum.inductor_us += one.inductor_us;
  sum.codegen_us += one.codegen_us;
  sum.kernels_us += one.kernels_us;
}

TraceSums sums_of(const std::vector<ProcessLog>& logs) {
  TraceSums out;
  for (const ProcessLog& log : logs) {
    for (const Compile& compile : log.compiles) {
      ++out.compiles;
      out.total_us += compile.total_us();
      add(out.stages, compile.forward.stages);
      add(out.stages, compile.backward.stages);
      if (!compile.finished) ++out.unfinished;
      if (!compile.failure.type.empty()) ++out.failed;
      if (compile.is_recompile()) {
        ++out.recompiles;
        out.recompile_us += compile.total_us();
      }
      for (const CacheAsk& ask : compile.asks) {
        ++out.asked[static_cast<std::size_t>(ask.outcome)];
        out.saved_us += ask.saved_us;
      }
    }
  }
  return out;
}

std::string_view cache_word(const Compile& compile) {
  if (compile.asks.empty()) return "";
  if (compile.all_found()) return "hit";
  const bool bypass = std::any_of(compile.asks.begin(), compile.asks.end(), [](const CacheAsk& a) {
    return a.outcome == CacheOutcome::bypass;
  });
  return bypass ? "bypass" : "miss";
}

std::string dynamic_text(const Compile& compile) {
  std::string out;
  std::set<std::string> told;
  for (const DynamicChange& change : compile.changes) {
    const std::string name =
        change.dim < 0 ? change.source : fmt::format("{}:{}", change.source, change.dim);
    if (!told.insert(name).second) continue;
    out += (out.empty() ? "made dynamic: " : ", ") + name;
  }
  return out;
}

std::string no_room_text(const std::vector<ProcessLog>& logs) {
  std::uint64_t entries = 0, of = 0;
  for (const ProcessLog& log : logs) {
    entries += log.no_room;
    of += log.no_room > 0 ? 1 : 0;
  }
  if (entries == 0) return "";
  return fmt::format(
      "more than is held in memory: {} of {} left out, texts and keys first; --rank N, or some of "
      "the logs, shows more",
      plural(entries, "entry", "entries"), plural(of, "process", "processes"));
}

std::string damage_text(const ProcessLog& log) {
  const TraceCounts& c = log.counts;
  std::string what;
  const auto tell = [&](std::uint64_t n, std::string_view one, std::string_view many) {
    if (n > 0) what += (what.empty() ? "" : ", ") + plural(n, one, many);
  };
  tell(c.torn_records, "record cut off", "records cut off");
  tell(c.bad_records, "record not readable", "records not readable");
  tell(c.foreign_lines, "line of something else", "lines of something else");
  tell(c.stray_lines, "payload line without a record", "payload lines without a record");
  tell(c.missing_payloads, "payload missing", "payloads missing");
  tell(c.cut_payloads, "payload too long", "payloads too long");
  tell(c.wrong_payloads, "payload with another MD5", "payloads with another MD5");
  tell(log.left_out, "entry left out: too many", "entries left out: too many");
  if (!what.empty() && c.first_bad_line > 0) {
    what += fmt::format("; the first in line {}", c.first_bad_line);
  }
  return what;
}

}  // namespace headway::cli
