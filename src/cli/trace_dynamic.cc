#include "cli/trace_dynamic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/cut_text.h"
#include "cli/human.h"
#include "cli/page.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr std::size_t kRowsShown = 12;  // of each list, but for --all
constexpr std::size_t kNameShownMax = 300;
constexpr int kWhatEnd = 46;
constexpr int kColumns = 12;

std::string times(std::size_t n) {
  return n == 1 ? "once" : fmt::format("{} times", human_count(n));
}

std::string us_text(std::int64_t us, const Style& style) {
  return us == 0 ? "-" : human_duration(us * 1000, style);
}

// A name may be as long as somebody's keys.
std::string shown(const std::string& name, const Style& style) {
  return clean(base::cut_in_the_middle(name, kNameShownMax), style);
}

std::size_t shown_of(std::size_t count, bool all) {
  return all ? count : std::min(count, kRowsShown);
}

void add_more(Page& page, std::size_t count, std::size_t shown) {
  if (shown < count) page.add(fmt::format("  and {} more (--all)", count - shown), Ink::dim);
}

void add_functions(Page& page, const DynamicFindings& found, bool all) {
  const Style& style = page.style();
  Line head;
  head.add("  function", Ink::dim);
  int at = kWhatEnd;
  for (const char* name : {"compiled", "then", "time", "less"}) {
    head.right(name, at += kColumns, Ink::dim);
  }
  page.blank();
  page.add(head);
  const std::size_t shown = shown_of(found.functions.size(), all);
  for (std::size_t i = 0; i < shown; ++i) {
    const FunctionCompiles& one = found.functions[i];
    Line line;
    line.add("  ").add(prefix_of(clean(one.what.empty() ? "?" : one.what, style), kWhatEnd - 3));
    at = kWhatEnd;
    line.right(human_count(one.compiles), at += kColumns);
    line.right(human_count(one.compiles - one.saved), at += kColumns,
               one.saved > 0 ? Ink::effective : Ink::plain);
    line.right(us_text(one.total_us, style), at += kColumns);
    line.right(us_text(one.saved_us, style), at += kColumns,
               one.saved > 0 ? Ink::effective : Ink::plain);
    page.add(line);
  }
  add_more(page, found.functions.size(), shown);
}

void add_sources(Page& page, const DynamicFindings& found, bool all) {
  if (found.sources.empty()) return;
  const Style& style = page.style();
  page.blank();
  page.add(Line().add("Changes", Ink::strong).add(": sizes (name:dimension) and numbers"));
  const std::size_t shown = shown_of(found.sources.size(), all);
  for (std::size_t i = 0; i < shown; ++i) {
    const DynamicSource& one = found.sources[i];
    Line line;
    line.add("  ").add(clean(text_of(one.at), style), Ink::strong);
    if (!one.was.empty()) {
      line.add(fmt::format("  {} then {}", clean(one.was, style), clean(one.is, style)));
    } else {
      line.add("  from torch's profile of earlier runs");
    }
    line.add(
        fmt::format(", in {}", clean(fmt::format("{}", fmt::join(one.functions, ", ")), style)),
        Ink::dim);
    page.add_broken(line, 4);
    if (!one.also_in.empty()) {
      page.add_broken(
          Line().add(
              fmt::format("    it does not change in {}, and becomes dynamic there, too: the "
                          "name is the same",
                          clean(fmt::format("{}", fmt::join(one.also_in, ", ")), style)),
              Ink::dim),
          4);
    }
    if (!one.code.empty()) {
      page.add_broken(Line()
                          .add("    to avoid that, before the call instead: ", Ink::dim)
                          .add(clean(one.code, style)),
                      6);
    }
  }
  add_more(page, found.sources.size(), shown);
}

void add_unnamed(Page& page, const DynamicFindings& found, bool all) {
  if (found.unnamed.empty()) return;
  const Style& style = page.style();
  page.blank();
  page.add(Line().add("Changes, and no setting helps", Ink::strong));
  const std::size_t rows = shown_of(found.unnamed.size(), all);
  for (std::size_t i = 0; i < rows; ++i) {
    const UnnamedSource& one = found.unnamed[i];
    page.add_broken(Line()
                        .add("  ")
                        .add(shown(text_of(one.at), style), Ink::strong)
                        .add(fmt::format("  {} ({}, in {})", one.why, times(one.changes),
                                         clean(one.function, style))),
                    4);
    if (!one.code.empty()) {
      page.add_whole(Line().add("    what helps: ", Ink::dim).add(clean(one.code, style)));
    }
  }
  add_more(page, found.unnamed.size(), rows);
}

void add_remaining(Page& page, const DynamicFindings& found, bool all) {
  if (found.remaining.empty()) return;
  const Style& style = page.style();
  page.blank();
  page.add(Line().add("Compiled again all the same", Ink::strong));
  const std::size_t rows = shown_of(found.remaining.size(), all);
  for (std::size_t i = 0; i < rows; ++i) {
    const RemainingReason& one = found.remaining[i];
    page.add_broken(Line().add(fmt::format("  {:>4} x {}: {}", one.count, clean(one.what, style),
                                           shown(one.text, style))),
                    9);
  }
  add_more(page, found.remaining.size(), rows);
}

Json source_json(const SourceDim& at) {
  return {{"source", at.source}, {"dim", at.dim < 0 ? Json() : Json(at.dim)}};
}

}  // namespace

std::string dynamic_text(const DynamicFindings& found, const std::string& title, bool all,
                         const Style& style) {
  Page page(style);
  const std::string dot = fmt::format(" {} ", page.dot());
  Line head;
  head.add(clean(title, style), Ink::strong);
  head.add(fmt::format("{}{}, {}", dot, plural(found.compiles, "compilation"),
                       us_text(found.total_us, style)));
  head.add(
      fmt::format("{}compiled again {}", dot, found.again == 0 ? "never" : times(found.again)));
  page.add_whole(head);
  if (found.setting.empty()) {
    page.add("Nothing to make dynamic: no compilation would have been saved.");
  } else {
    page.blank();
    // A line to paste: it must not be broken.
    page.add_whole(Line().add(
        fmt::format("export {}=\"{}\"", kDynamicSourcesVariable, clean(found.setting, style)),
        Ink::effective));
    page.blank();
    if (found.saved > 0) {
      page.paragraph(
          fmt::format("With it {} of {} would not have been made: {} less in all, {} "
                      "less in the "
                      "process that gains most.",
                      human_count(found.saved), plural(found.compiles, "compilation"),
                      us_text(found.saved_us, style), us_text(found.saved_longest_us, style)),
          0);
    }
  }
  if (found.entries_left_out > 0) {
    page.add(plural(found.entries_left_out, "more has", "more have") + " no room in it.",
             Ink::wasted);
  }
  if (found.again > 0) add_functions(page, found, all);
  add_sources(page, found, all);
  add_unnamed(page, found, all);
  add_remaining(page, found, all);
  return page.text();
}

Json dynamic_json(const DynamicFindings& found) {
  Json sources = Json::array(), unnamed = Json::array(), entries = Json::array();
  for (const DynamicSource& one : found.sources) {
    Json row = source_json(one.at);
    row.update({{"changes", one.changes},
                {"was", one.was},
                {"is", one.is},
                {"functions", one.functions},
                {"unchanged_in", one.also_in},
                {"code", one.code.empty() ? Json() : Json(one.code)}});
    sources.push_back(std::move(row));
  }
  for (const UnnamedSource& one : found.unnamed) {
    Json row = source_json(one.at);
    row.update({{"why", one.why},
                {"function", one.function},
                {"changes", one.changes},
                {"code", one.code.empty() ? Json() : Json(one.code)}});
    unnamed.push_back(std::move(row));
  }
  for (const SourceEntry& one : found.entries) {
    Json covers = Json::array();
    for (const SourceDim& at : one.covers) covers.push_back(source_json(at));
    entries.push_back({{"entry", one.text}, {"covers", std::move(covers)}});
  }
  Json functions = Json::array(), remaining = Json::array();
  for (const FunctionCompiles& one : found.functions) {
    functions.push_back({{"function", one.what},
                         {"compiles", one.compiles},
                         {"again", one.again},
                         {"saved", one.saved},
                         {"total_us", one.total_us},
                         {"saved_us", one.saved_us}});
  }
  for (const RemainingReason& one : found.remaining) {
    remaining.push_back({{"function", one.what}, {"reason", one.text}, {"count", one.count}});
  }
  return {{"variable", kDynamicSourcesVariable},
          {"setting", found.setting},
          {"compiles", found.compiles},
          {"again", found.again},
          {"saved", found.saved},
          {"total_us", found.total_us},
          {"saved_us", found.saved_us},
          {"saved_longest_us", found.saved_longest_us},
          {"entries", std::move(entries)},
          {"sources", std::move(sources)},
          {"unnamed", std::move(unnamed)},
          {"functions", std::move(functions)},
          {"remaining", std::move(remaining)},
          {"entries_left_out", found.entries_left_out}};
}

}  // namespace headway::cli
