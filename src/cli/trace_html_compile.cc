// The page of one compilation: where its time went, why it was, and every text that torch dumped.
#include <fmt/format.h>

#include <algorithm>

#include "cli/human.h"
#include "cli/trace_html_parts.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr std::size_t kChangesMax = 100;  // of one miss

void add_pass(Html& page, std::string_view name, const Pass& pass, std::int64_t whole_us) {
  if (!pass.there) return;
  const Stages& s = pass.stages;
  page.raw("<tr>").cell(name).cell(html_us(pass.duration_us), "n");
  for (const std::int64_t us :
       {s.dynamo_us, s.aot_us, s.inductor_us, s.codegen_us, s.kernels_us, pass.autotune_us}) {
    page.cell(html_us(us), "n");
  }
  page.raw("<td class=\"stages\">").bar(s, whole_us).raw("</td></tr>\n");
}

void add_times(Html& page, const Compile& c) {
  if (!c.forward.there && !c.backward.there) {
    page.raw("<p class=\"bad\">It did not end: no times are told.</p>\n");
    return;
  }
  const std::int64_t whole_us = std::max(c.forward.duration_us, c.backward.duration_us);
  page.raw("<table>").head(
      {"", "#time", "#dynamo", "#aot", "#inductor", "#codegen", "#kernels", "#autotuning", ""});
  page.raw("<tbody>");
  add_pass(page, "forward", c.forward, whole_us);
  add_pass(page, "backward", c.backward, whole_us);
  page.raw("</tbody></table>\n<p class=\"quiet\">");
  page.text(fmt::format("{}, {}, {}", plural(static_cast<std::uint64_t>(c.ops), "operation"),
                        plural(static_cast<std::uint64_t>(c.inputs), "input"),
                        plural(static_cast<std::uint64_t>(c.guards), "guard")));
  page.raw("</p>\n");
}

void add_reasons(Html& page, const Compile& c) {
  if (c.is_recompile()) {
    page.raw("<h2>Compiled again</h2>\n<ul>");
    for (const std::string& reason : c.recompile_reasons) {
      page.raw("<li><code>").text(reason).raw("</code></li>");
    }
    for (const DynamicChange& one : c.changes) {
      page.raw("<li>").text(fmt::format(
          "made dynamic: {}{} ({}{})", one.source, one.dim < 0 ? "" : fmt::format(":{}", one.dim),
          one.reason,
          one.was.empty() && one.is.empty() ? "" : fmt::format(", {} -> {}", one.was, one.is)));
      page.raw("</li>");
    }
    if (c.recompile_reasons.empty() && c.changes.empty()) page.raw("<li>no reason told</li>");
    page.raw("</ul>\n");
  }
  if (!c.failure.type.empty()) {
    page.raw("<h2>Failed</h2>\n<p class=\"bad\">").text(c.failure.type + ": " + c.failure.reason);
    page.text(c.failure.where.empty() ? "" : " at " + c.failure.where).raw("</p>\n");
  }
  if (!c.restart_reasons.empty()) {
    page.raw("<h2>Began again</h2>\n<ul>");
    for (const std::string& reason : c.restart_reasons) {
      page.raw("<li>").text(reason).raw("</li>");
    }
    page.raw("</ul>\n");
  }
}

void add_miss(Html& page, const TraceView& view, const MissCause& cause) {
  if (!cause.has_nearest) {
    page.raw("<p class=\"quiet\">No key was asked for before: nothing to compare with.</p>\n");
    return;
  }
  const auto& logs = cause.in_other ? view.job->other : view.job->logs;
  const Compile& near = logs[cause.nearest.log].compiles[cause.nearest.compile];
  page.raw("<p>The most similar key is that of ");
  if (cause.in_other) {
    page.text(near.id.text() + " of the other trace");
  } else {
    page.link("../../" + folder_of(cause.nearest.log, near) + "/index.html", near.id.text());
  }
  page.text(cause.being_made        ? ": it is the same key, another rank was still compiling it."
            : cause.changes.empty() ? ": it is the same key, and its entry was gone."
                                    : "; it differs in:");
  page.raw("</p>\n");
  if (cause.changes.empty()) return;
  page.raw("<table>").head({"component", "was", "is"}).raw("<tbody>");
  for (std::size_t i = 0; i < std::min(cause.changes.size(), kChangesMax); ++i) {
    const ComponentChange& one = cause.changes[i];
    page.raw("<tr>").cell(one.name, "long").cell(one.was, "long").cell(one.is, "long");
    page.raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
}

void add_caches(Html& page, const TraceView& view, const Compile& c,
                const std::vector<const MissCause*>& misses) {
  if (c.asks.empty()) return;
  page.raw("<h2>Caches</h2>\n<table>").head({"cache", "outcome", "key", "#saved", "why"});
  page.raw("<tbody>");
  for (const CacheAsk& ask : c.asks) {
    page.raw("<tr>").cell(name_of(ask.kind));
    page.cell(name_of(ask.outcome), ask.outcome == CacheOutcome::hit ? "good" : "bad");
    page.cell(ask.key, "long").cell(html_us(ask.saved_us), "n").cell(ask.reason, "long");
    page.raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
  for (const MissCause* cause : misses) add_miss(page, view, *cause);
}

void add_breaks(Html& page, std::size_t log, const Compile& c, const PayloadText& text) {
  if (c.breaks.empty()) return;
  page.raw("<h2>Graph breaks</h2>\n");
  for (std::size_t i = 0; i < c.breaks.size(); ++i) {
    const GraphBreak& one = c.breaks[i];
    page.raw(i == 0 ? "<details open><summary>" : "<details><summary>");
    page.text(one.where + ": " + one.reason).raw("</summary><pre>");
    page.text(i < 10 ? text(log, one.place) : "in its text below").raw("</pre></details>\n");
  }
}

void add_code(Html& page, const ProcessLog& log, std::uint32_t stack) {
  page.raw("<td class=\"long\">");
  for (const StackNode& call : log.code.path_to(stack)) {
    page.raw("<div>").text(text_of(log, call)).raw("</div>");
  }
  page.raw("</td>");
}

// What became of sizes and numbers, the surprising first.
void add_sizes(Html& page, const ProcessLog& log, const Compile& c) {
  if (!c.specialised.empty()) {
    page.raw("<h2>For one value only</h2>\n<table>");
    page.head({"size or number", "symbol", "#value", "why", "code"}).raw("<tbody>");
    for (const Specialised& one : c.specialised) {
      page.raw("<tr>").cell(name_of(one), "long").cell(one.symbol).cell(one.value, "n");
      page.cell(one.reason, "long");
      add_code(page, log, one.stack);
      page.raw("</tr>\n");
    }
    page.raw("</tbody></table>\n");
  }
  if (!c.size_guards.empty()) {
    page.raw("<h2>Asked of sizes</h2>\n<table>").head({"guard", "code"}).raw("<tbody>");
    for (const SizeGuard& one : c.size_guards) {
      page.raw("<tr>").cell(one.expression, "long");
      add_code(page, log, one.stack);
      page.raw("</tr>\n");
    }
    page.raw("</tbody></table>\n");
  }
  if (c.symbols.empty()) return;
  page.raw("<h2>Symbols</h2>\n<table>").head({"symbol", "size or number", "#value", "range"});
  page.raw("<tbody>");
  for (const SizeSymbol& one : c.symbols) {
    page.raw("<tr>").cell(one.symbol);
    page.cell(one.source.empty() ? "depends on data" : one.source, "long");
    page.cell(one.value, "n").cell(one.range).raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
}

struct Shown {
  std::string name, file;
  std::int32_t attempt = -1;
  std::uint64_t bytes = 0;
};

void add_texts(Html& page, const Compile& c) {
  std::vector<Shown> texts;
  for (std::size_t i = 0; i < c.artifacts.size(); ++i) {
    const Artifact& one = c.artifacts[i];
    texts.push_back({one.name, payload_name(i, one.name), one.attempt, one.place.bytes});
  }
  if (c.forward.metrics.bytes > 0) {
    texts.push_back({"compilation_metrics", "metrics.txt", -1, c.forward.metrics.bytes});
  }
  if (c.backward.metrics.bytes > 0) {
    texts.push_back(
        {"bwd_compilation_metrics", "metrics-backward.txt", -1, c.backward.metrics.bytes});
  }
  if (texts.empty()) return;
  // What people look for comes up by itself.
  std::size_t first = 0;
  for (const std::string_view wanted : {"dynamo_output_graph", "inductor_output_code"}) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].name == wanted) first = i;
    }
  }
  page.raw("<h2>Graphs, guards, code</h2>\n<div class=\"texts\"><ul>");
  for (const Shown& one : texts) {
    page.raw(fmt::format("<li><a href=\"{}\" target=\"text\">", one.file)).text(one.name);
    page.raw("</a> <span class=\"quiet\">").text(human_bytes(one.bytes));
    if (one.attempt > 0) page.text(fmt::format(", try {}", one.attempt + 1));
    page.raw("</span></li>\n");
  }
  page.raw(
      fmt::format("</ul><iframe name=\"text\" title=\"the text chosen\" src=\"{}\" sandbox>"
                  "</iframe></div>\n",
                  texts[first].file));
}

void add_stack(Html& page, const ProcessLog& log, const Compile& c) {
  if (c.stack == 0) return;
  page.raw("<details><summary>called by</summary><ol class=\"stack\">");
  for (const StackNode& call : log.stacks.path_to(c.stack)) {
    page.raw("<li>").text(fmt::format("{}:{} ", log.stacks.name(call.file), call.line));
    page.raw("<b>").text(log.stacks.name(call.function)).raw("</b></li>");
  }
  page.raw("</ol></details>\n");
}

}  // namespace

std::string compile_page(const TraceView& view, CompileRef at,
                         const std::vector<const MissCause*>& misses, const PayloadText& text) {
  const ProcessLog& log = view.job->logs[at.log];
  const Compile& c = log.compiles[at.compile];
  Html page(fmt::format("{} {}", c.id.text(), what_of(c)), "../../", Html::Script::none);
  page.raw("<header><p><a href=\"../../index.html\">All compilations</a>");
  // The one before and the one after it, in the order in which they were begun.
  if (at.compile > 0) {
    page.raw(" · ").link("../../" + folder_of(at.log, log.compiles[at.compile - 1]) + "/index.html",
                         "previous");
  }
  if (at.compile + 1 < log.compiles.size()) {
    page.raw(" · ").link("../../" + folder_of(at.log, log.compiles[at.compile + 1]) + "/index.html",
                         "next");
  }
  page.raw("</p>\n<h1>").text(fmt::format("{}  {}", c.id.text(), what_of(c))).raw("</h1>\n<p>");
  page.text(fmt::format("{} · {}:{} · first in line {} of {}", log_name(log), c.file, c.line,
                        c.first_line, log.path));
  page.raw("</p></header>\n<main>\n");
  add_stack(page, log, c);
  add_times(page, c);
  add_reasons(page, c);
  add_breaks(page, at.log, c, text);
  add_sizes(page, log, c);
  add_caches(page, view, c, misses);
  add_texts(page, c);
  page.raw("</main>\n");
  return page.finish();
}

}  // namespace headway::cli
