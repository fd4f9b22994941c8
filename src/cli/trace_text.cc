#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/human.h"
#include "cli/page.h"
#include "cli/trace_views.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr std::size_t kRowsShown = 12;    // of each list, but for --all
constexpr std::size_t kChangesShown = 4;  // of one miss
constexpr int kWhat = 12;                 // columns
constexpr int kTimeEnd = 54;
constexpr int kStageColumns = 10;

std::string human_us(std::int64_t us, const Style& style) {
  return us == 0 ? "-" : human_duration(us * 1000, style);
}

std::string plural(std::uint64_t n, std::string_view one, std::string_view many = {}) {
  if (n == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", human_count(n), one)
                      : fmt::format("{} {}", human_count(n), many);
}

// The hits, misses and bypasses of a compilation in one word.
std::string_view cache_word(const Compile& compile) {
  if (compile.asks.empty()) return "";
  if (compile.is_warm()) return "hit";
  const bool bypass = std::any_of(compile.asks.begin(), compile.asks.end(), [](const CacheAsk& a) {
    return a.outcome == CacheOutcome::bypass;
  });
  return bypass ? "bypass" : "miss";
}

struct Sums {
  std::size_t compiles = 0, recompiles = 0, unfinished = 0, failed = 0;
  std::int64_t total_us = 0, recompile_us = 0;
  std::size_t asked[3] = {0, 0, 0};  // by outcome
  std::int64_t saved_us = 0;
  Stages stages;
};

void add(Stages& sum, const Stages& one) {
  sum.dynamo_us += one.dynamo_us;
  sum.aot_us += one.aot_us;
  sum.inductor_us += one.inductor_us;
  sum.codegen_us += one.codegen_us;
  sum.kernels_us += one.kernels_us;
}

Sums sums_of(const std::vector<ProcessLog>& logs) {
  Sums out;
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

struct Row {
  const ProcessLog* log;
  const Compile* compile;
};

std::string rank_prefix(const TraceView& view, const ProcessLog& log) {
  if (view.job->logs.size() < 2) return "";
  return log.rank >= 0 ? fmt::format("rank {} ", log.rank) : fmt::format("pid {} ", log.process);
}

void add_stages(Line& line, const Stages& stages, const Style& style, Ink ink = Ink::plain) {
  int at = kTimeEnd;
  for (const std::int64_t us : {stages.dynamo_us, stages.aot_us, stages.inductor_us,
                                stages.codegen_us, stages.kernels_us}) {
    line.right(human_us(us, style), at += kStageColumns, ink);
  }
}

bool has_room_for_stages(const Style& style) {
  return style.width >= kTimeEnd + 5 * kStageColumns;
}

void add_row(Page& page, const TraceView& view, const Row& row) {
  const Style& style = page.style();
  const Compile& c = *row.compile;
  Line line;
  line.add("  ").add(c.id.text(), Ink::strong).to(kWhat);
  const std::string what = rank_prefix(view, *row.log) + what_of(c);
  line.add(prefix_of(clean(what, style), kTimeEnd - kWhat - 11));
  line.right(c.finished ? human_us(c.total_us(), style) : "not ended", kTimeEnd,
             c.finished ? Ink::plain : Ink::down);
  if (has_room_for_stages(style)) {
    Stages both = c.forward.stages;
    add(both, c.backward.stages);
    add_stages(line, both, style);
  }
  line.add("  ");
  const std::string_view cache = cache_word(c);
  line.add(cache, cache == "hit" ? Ink::effective : Ink::wasted);
  if (c.is_recompile()) line.add(cache.empty() ? "again" : " again", Ink::repeated);
  if (!c.failure.type.empty()) line.add(" failed", Ink::down);
  page.add(line);
}

void add_compiles(Page& page, const TraceView& view) {
  const Style& style = page.style();
  std::vector<Row> rows;
  for (const ProcessLog& log : view.job->logs) {
    for (const Compile& compile : log.compiles) rows.push_back({&log, &compile});
  }
  Line head;
  head.add("  ").add("id", Ink::dim).to(kWhat).add("compiled", Ink::dim);
  head.right("time", kTimeEnd, Ink::dim);
  if (has_room_for_stages(style)) {
    int at = kTimeEnd;
    for (const char* name : {"dynamo", "aot", "inductor", "codegen", "kernels"}) {
      head.right(name, at += kStageColumns, Ink::dim);
    }
  }
  page.blank();
  page.add(head.add("  cache", Ink::dim));
  // The longest ones, in the order in which they came.
  std::vector<Row> shown = rows;
  if (!view.all && rows.size() > kRowsShown) {
    std::nth_element(shown.begin(), shown.begin() + kRowsShown, shown.end(),
                     [](const Row& a, const Row& b) {
                       return std::pair(a.compile->finished ? 1 : 0, -a.compile->total_us()) <
                              std::pair(b.compile->finished ? 1 : 0, -b.compile->total_us());
                     });
    shown.resize(kRowsShown);
    std::sort(shown.begin(), shown.end(), [](const Row& a, const Row& b) {
      return std::tuple(a.log, a.compile) < std::tuple(b.log, b.compile);
    });
  }
  std::int64_t rest_us = 0;
  for (const Row& row : rows) rest_us += row.compile->total_us();
  for (const Row& row : shown) {
    rest_us -= row.compile->total_us();
    add_row(page, view, row);
  }
  if (shown.size() < rows.size()) {
    page.add(
        fmt::format("  and {}, {} together (--all shows them)",
                    plural(rows.size() - shown.size(), "shorter one"), human_us(rest_us, style)),
        Ink::dim);
  }
}

// Like reasons of one function are told once: compile ids at their front differ.
std::string_view without_id(std::string_view reason) {
  const std::size_t colon = reason.find(": ");
  if (colon == std::string_view::npos || !parse_compile_id(reason.substr(0, colon))) return reason;
  return reason.substr(colon + 2);
}

struct Counted {
  std::size_t count = 0;
  std::int64_t us = 0;
  std::string example;
};

void add_list(Page& page, const TraceView& view, const std::map<std::string, Counted>& found) {
  const Style& style = page.style();
  std::vector<std::pair<std::string, Counted>> rows(found.begin(), found.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.second.us, b.second.count) < std::pair(-b.second.us, a.second.count);
  });
  const std::size_t shown = view.all ? rows.size() : std::min(rows.size(), kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [text, counted] = rows[i];
    Line line;
    line.add(fmt::format("  {:>4} x ", counted.count), Ink::dim);
    if (counted.us > 0) line.add(human_us(counted.us, style) + "  ");
    page.add_broken(line.add(clean(text, style)), 9);
    if (!counted.example.empty()) {
      page.add_broken(Line().add("         ").add(clean(counted.example, style), Ink::dim), 11);
    }
  }
  if (shown < rows.size()) {
    page.add(fmt::format("  and {} (--all)", plural(rows.size() - shown, "other")), Ink::dim);
  }
}

void add_recompiles(Page& page, const TraceView& view, const Sums& sums) {
  std::map<std::string, Counted> found;
  for (const ProcessLog& log : view.job->logs) {
    for (const Compile& c : log.compiles) {
      if (!c.is_recompile()) continue;
      const std::string reason =
          c.recompile_reasons.empty() ? "no reason told" : c.recompile_reasons.front();
      Counted& one = found[fmt::format("{}: {}", what_of(c), without_id(reason))];
      ++one.count;
      one.us += c.total_us();
      std::string sources;
      for (const DynamicChange& change : c.changes) {
        sources += sources.empty() ? "made dynamic: " : ", ";
        sources += change.dim < 0 ? change.source : fmt::format("{}:{}", change.source, change.dim);
      }
      if (one.example.empty()) one.example = sources;
    }
  }
  if (found.empty()) return;
  page.blank();
  page.add(Line()
               .add("Compiled again", Ink::strong)
               .add(fmt::format(": {}, {}", plural(sums.recompiles, "time"),
                                human_us(sums.recompile_us, page.style()))));
  add_list(page, view, found);
}

void add_breaks(Page& page, const TraceView& view) {
  std::map<std::string, Counted> found;
  std::size_t count = 0;
  for (const ProcessLog& log : view.job->logs) {
    for (const Compile& c : log.compiles) {
      for (const GraphBreak& one : c.breaks) {
        ++count;
        ++found[fmt::format("{}: {}", one.where, one.reason)].count;
      }
    }
  }
  if (found.empty()) return;
  page.blank();
  page.add(Line().add("Graph breaks", Ink::strong).add(fmt::format(": {}", count)));
  add_list(page, view, found);
}

void add_caches(Page& page, const TraceView& view, const Sums& sums) {
  const Style& style = page.style();
  const std::size_t asked = sums.asked[0] + sums.asked[1] + sums.asked[2];
  if (asked == 0) return;
  page.blank();
  Line line;
  line.add("Caches", Ink::strong);
  line.add(fmt::format(": asked {}, {}, {}, {}", plural(asked, "time"),
                       plural(sums.asked[0], "hit"), plural(sums.asked[1], "miss", "misses"),
                       plural(sums.asked[2], "bypass", "bypassed")));
  if (sums.saved_us > 0) line.add(fmt::format("; hits saved {}", human_us(sums.saved_us, style)));
  page.add_broken(line, 2);
  std::map<std::string, Counted> bypasses, misses;
  for (const ProcessLog& log : view.job->logs) {
    for (const Compile& c : log.compiles) {
      for (const CacheAsk& ask : c.asks) {
        if (ask.outcome != CacheOutcome::bypass) continue;
        ++bypasses[fmt::format("{} bypassed: {}", name_of(ask.kind), ask.reason)].count;
      }
    }
  }
  add_list(page, view, bypasses);
  for (const MissCause& cause : view.misses) {
    if (!cause.has_nearest) continue;
    const Compile& c = view.job->logs[cause.miss.log].compiles[cause.miss.compile];
    const auto& logs = cause.in_other ? view.job->other : view.job->logs;
    const Compile& near = logs[cause.nearest.log].compiles[cause.nearest.compile];
    std::string names;
    for (std::size_t i = 0; i < std::min(cause.changes.size(), kChangesShown); ++i) {
      const ComponentChange& one = cause.changes[i];
      names += (i == 0 ? "" : ", ") + one.name;
      if (one.was.size() + one.is.size() <= 60)
        names += fmt::format(" ({} -> {})", one.was, one.is);
    }
    if (cause.changes.size() > kChangesShown) {
      names += fmt::format(" and {} more", cause.changes.size() - kChangesShown);
    }
    if (cause.changes.empty()) names = "nothing: the same key, and its entry was gone";
    Counted& one =
        misses[fmt::format("{} missed; what differs from {}{}: {}", what_of(c), near.id.text(),
                           cause.in_other ? " of the other trace" : "", names)];
    ++one.count;
  }
  add_list(page, view, misses);
}

void add_divergences(Page& page, const TraceView& view) {
  if (view.divergences.empty()) return;
  const Style& style = page.style();
  page.blank();
  page.add(Line().add("Ranks that did not compile the same", Ink::strong));
  const std::size_t count = view.divergences.size();
  const std::size_t shown = view.all ? count : std::min(count, kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Divergence& one = view.divergences[i];
    std::string ranks;
    for (std::size_t r = 0; r < std::min<std::size_t>(one.ranks.size(), 8); ++r) {
      ranks += fmt::format("{}{}", r == 0 ? "" : ", ", one.ranks[r]);
    }
    if (one.ranks.size() > 8) ranks += ", …";
    page.add_broken(Line().add(fmt::format("  {}  {}: {}: rank {}", one.id.text(),
                                           clean(one.what, style), one.how, ranks)),
                    9);
  }
  if (shown < count) page.add(fmt::format("  and {} (--all)", plural(count - shown, "other")));
}

// What could not be read, so that nobody takes a part for the whole.
void add_damage(Page& page, const TraceView& view) {
  const Style& style = page.style();
  for (const ProcessLog& log : view.job->logs) {
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
    if (what.empty()) continue;
    if (c.first_bad_line > 0) what += fmt::format("; the first in line {}", c.first_bad_line);
    page.blank();
    page.add_broken(Line().add(clean(log.path, style)).add(": ").add(what, Ink::wasted), 2);
  }
}

}  // namespace

std::string trace_text(const TraceView& view, const Style& style) {
  Page page(style);
  const Sums sums = sums_of(view.job->logs);
  Line title;
  title.add(clean(view.title, style), Ink::strong);
  const std::string dot = fmt::format(" {} ", page.dot());
  title.add(dot + plural(view.job->logs.size(), "process", "processes"));
  if (!view.job->logs.empty() && !view.job->logs.front().torch_version.empty()) {
    title.add(dot + "torch " + clean(view.job->logs.front().torch_version, style));
  }
  title.add(dot + plural(sums.compiles, "compilation"));
  title.add(dot + human_us(sums.total_us, style));
  if (sums.unfinished > 0)
    title.add(dot).add(plural(sums.unfinished, "not ended", "not ended"), Ink::down);
  if (sums.failed > 0) title.add(dot).add(plural(sums.failed, "failed", "failed"), Ink::down);
  page.add_whole(title);
  if (sums.compiles > 0) {
    add_compiles(page, view);
    if (has_room_for_stages(style)) {
      Line line;
      line.add("  all", Ink::dim).right(human_us(sums.total_us, style), kTimeEnd, Ink::dim);
      add_stages(line, sums.stages, style, Ink::dim);
      page.add(line);
    }
  }
  add_recompiles(page, view, sums);
  add_breaks(page, view);
  add_caches(page, view, sums);
  add_divergences(page, view);
  add_damage(page, view);
  return page.text();
}

}  // namespace headway::cli
