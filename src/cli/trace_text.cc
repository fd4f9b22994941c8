#include <fmt/format.h>

#include <algorithm>

#include "cli/human.h"
#include "cli/page.h"
#include "cli/trace_groups.h"
#include "cli/trace_views.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr std::size_t kRowsShown = 12;  // of each list, but for --all
constexpr int kWhat = 12;               // columns
constexpr int kTimeEnd = 54;
constexpr int kStageColumns = 10;

std::string human_us(std::int64_t us, const Style& style) {
  return us == 0 ? "-" : human_duration(us * 1000, style);
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

constexpr int kStagesEnd = kTimeEnd + 5 * kStageColumns;

bool has_room_for_stages(const Style& style) {
  return style.width >= kStagesEnd;
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
  if (!has_room_for_stages(style)) {
    page.add(fmt::format("  dynamo, aot, inductor, codegen and kernels apart: --width {}",
                         kStagesEnd + 20),
             Ink::dim);
  }
}

// With --all: the user's code of a row, the first call first.
void add_stack(Page& page, const TraceView& view, const TraceGroup& group) {
  if (!view.all || group.stack == 0) return;
  const ProcessLog& log = view.job->logs[group.examples.front().log];
  for (const StackNode& call : log.code.path_to(group.stack)) {
    page.add_broken(
        Line().add("           ").add(clean(text_of(log, call), page.style()), Ink::dim), 13);
  }
}

void add_list(Page& page, const TraceView& view, const std::vector<TraceGroup>& rows) {
  const Style& style = page.style();
  const std::size_t shown = view.all ? rows.size() : std::min(rows.size(), kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const TraceGroup& group = rows[i];
    Line line;
    line.add(fmt::format("  {:>4} x ", group.count), Ink::dim);
    if (group.us > 0) line.add(human_us(group.us, style) + "  ");
    page.add_broken(line.add(clean(group.text, style)), 9);
    if (!group.note.empty()) {
      page.add_broken(Line().add("         ").add(clean(group.note, style), Ink::dim), 11);
    }
    add_stack(page, view, group);
  }
  if (shown < rows.size()) {
    page.add(fmt::format("  and {} (--all)", plural(rows.size() - shown, "other")), Ink::dim);
  }
}

void add_recompiles(Page& page, const TraceView& view, const TraceSums& sums) {
  const auto groups = recompile_groups(*view.job);
  if (groups.empty()) return;
  page.blank();
  page.add(Line()
               .add("Compiled again", Ink::strong)
               .add(fmt::format(": {}, {}", plural(sums.recompiles, "time"),
                                human_us(sums.recompile_us, page.style()))));
  add_list(page, view, groups);
}

void add_breaks(Page& page, const TraceView& view) {
  const auto groups = break_groups(*view.job);
  if (groups.empty()) return;
  std::size_t count = 0;
  for (const TraceGroup& group : groups) count += group.count;
  page.blank();
  page.add(Line().add("Graph breaks", Ink::strong).add(fmt::format(": {}", count)));
  add_list(page, view, groups);
}

void add_specialised(Page& page, const TraceView& view) {
  const auto groups = specialised_groups(*view.job);
  if (groups.empty()) return;
  page.blank();
  page.add(Line().add("For one value only", Ink::strong).add(": the code asked for it"));
  add_list(page, view, groups);
}

// torch runs such a function as it is, or does not get further.
void add_failures(Page& page, const TraceView& view, const TraceSums& sums) {
  if (sums.failed == 0) return;
  page.blank();
  page.add(Line().add("Not compiled", Ink::strong).add(fmt::format(": {}", sums.failed)));
  add_list(page, view, failure_groups(*view.job));
}

void add_caches(Page& page, const TraceView& view, const TraceSums& sums) {
  const Style& style = page.style();
  const std::size_t asked = sums.asked[0] + sums.asked[1] + sums.asked[2];
  if (asked == 0) return;
  page.blank();
  Line line;
  line.add("Caches", Ink::strong);
  line.add(fmt::format(": asked {}, {}, {}, {}", plural(asked, "time"),
                       plural(sums.asked[0], "hit"), plural(sums.asked[1], "miss", "misses"),
                       plural(sums.asked[2], "bypass", "bypassed")));
  if (sums.saved_us > 0) {
    line.add(fmt::format("; hits saved {}{}", human_us(sums.saved_us, style),
                         view.job->logs.size() > 1 ? " in all processes together" : ""));
  }
  page.add_broken(line, 2);
  add_list(page, view, bypass_groups(*view.job));
  add_list(page, view, miss_groups(*view.job, view.misses));
}

void add_autotune(Page& page, const TraceView& view) {
  if (view.autotune.empty()) return;
  const Style& style = page.style();
  std::int64_t total_us = 0;
  for (const AutotuneCost& cost : view.autotune) total_us += cost.total_us();
  page.blank();
  page.add(Line()
               .add("Autotuning", Ink::strong)
               .add(fmt::format(": {}, {}", plural(view.autotune.size(), "kernel"),
                                human_us(total_us, style))));
  Line head;
  head.add("  ").add("time", Ink::dim).right("compiled", 25, Ink::dim);
  head.right("measured", 36, Ink::dim).right("descent", 46, Ink::dim);
  head.right("candidates", 58, Ink::dim).add("  kernel", Ink::dim);
  page.add(head);
  const std::size_t count = view.autotune.size();
  const std::size_t shown = view.all ? count : std::min(count, kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const AutotuneCost& cost = view.autotune[i];
    Line line;
    line.add("  ").add(human_us(cost.total_us(), style));
    line.right(human_us(cost.compile_us, style), 25);
    line.right(human_us(cost.benchmark_us, style), 36);
    line.right(human_us(cost.descent_us, style), 46);
    line.right(cost.configs == 0 ? "-" : human_count(static_cast<std::uint64_t>(cost.configs)), 58);
    line.add("  ").add(clean(cost.kernel, style));
    if (!cost.best.empty()) line.add(" -> ").add(clean(cost.best, style), Ink::dim);
    page.add_broken(line, 60);
  }
  if (shown < count) {
    page.add(fmt::format("  and {} (--all)", plural(count - shown, "other")), Ink::dim);
  }
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
  if (const std::string what = no_room_text(view.job->logs); !what.empty()) {
    page.blank();
    page.add_broken(Line().add(what, Ink::wasted), 2);
  }
  for (const ProcessLog& log : view.job->logs) {
    const std::string what = damage_text(log);
    if (what.empty()) continue;
    page.blank();
    page.add_broken(Line().add(clean(log.path, style)).add(": ").add(what, Ink::wasted), 2);
  }
}

}  // namespace

std::string trace_text(const TraceView& view, const Style& style) {
  Page page(style);
  const TraceSums sums = sums_of(view.job->logs);
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
  add_specialised(page, view);
  add_failures(page, view, sums);
  add_caches(page, view, sums);
  add_autotune(page, view);
  add_divergences(page, view);
  add_damage(page, view);
  return page.text();
}

}  // namespace headway::cli
