// The first page of a trace's report, and the list of compilations that its script shows.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/human.h"
#include "cli/trace_html_parts.h"

namespace headway::cli {
namespace {

using namespace compile;

void add_more(Html& page, std::size_t count) {
  if (count <= kRowsMax) return;
  page.raw("<p class=\"quiet\">")
      .text(fmt::format("and {} that cost less: headway trace --all, or --json, has them",
                        plural(count - kRowsMax, "other")))
      .raw("</p>");
}

void add_examples(Html& page, const TraceView& view, const TraceGroup& group) {
  page.raw("<td>");
  for (const CompileRef& at : group.examples) {
    const ProcessLog& log = view.job->logs[at.log];
    const Compile& c = log.compiles[at.compile];
    std::string name = c.id.text();
    if (view.job->logs.size() > 1) name += fmt::format(" ({})", log_name(log));
    page.link(folder_of(at.log, c) + "/index.html", name).raw(" ");
  }
  if (group.count > group.examples.size()) page.raw("…");
  page.raw("</td>");
}

// Groups as rows. `stack`: with the text of the first one, to open.
void add_groups(Html& page, const TraceView& view, const std::vector<TraceGroup>& groups,
                bool with_time, const PayloadText* stack = nullptr) {
  if (groups.empty()) return;
  page.raw("<table>");
  if (with_time) {
    page.head({"#times", "#time", "what", "compilations"});
  } else {
    page.head({"#times", "what", "compilations"});
  }
  page.raw("<tbody>");
  for (std::size_t i = 0; i < std::min(groups.size(), kRowsMax); ++i) {
    const TraceGroup& group = groups[i];
    page.raw("<tr>").cell(human_count(group.count), "n");
    if (with_time) page.cell(html_us(group.us), "n");
    page.raw("<td class=\"long\">").text(group.text);
    if (!group.note.empty()) page.raw("<div class=\"quiet\">").text(group.note).raw("</div>");
    if (stack != nullptr && group.place.bytes > 0) {
      page.raw("<details><summary>user stack</summary><pre>")
          .text((*stack)(group.examples.front().log, group.place))
          .raw("</pre></details>");
    }
    page.raw("</td>");
    add_examples(page, view, group);
    page.raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
  add_more(page, groups.size());
}

void add_ranks(Html& page, const TraceView& view) {
  page.section("ranks", "Processes");
  std::int64_t most_us = 0;
  std::vector<TraceSums> sums;
  for (const ProcessLog& log : view.job->logs) {
    TraceSums one;
    for (const Compile& c : log.compiles) {
      ++one.compiles;
      if (c.is_recompile()) ++one.recompiles;
      add(one.stages, c.forward.stages);
      add(one.stages, c.backward.stages);
      one.total_us += c.total_us();
    }
    most_us = std::max(most_us, one.total_us);
    sums.push_back(one);
  }
  page.raw("<table>").head({"process", "#compiled", "#again", "#time", "stages", "events", "log"});
  page.raw("<tbody>");
  for (std::size_t i = 0; i < std::min(sums.size(), kRowsMax); ++i) {
    const ProcessLog& log = view.job->logs[i];
    page.raw("<tr>").cell(log_name(log)).cell(human_count(sums[i].compiles), "n");
    page.cell(human_count(sums[i].recompiles), "n").cell(html_us(sums[i].total_us), "n");
    page.raw("<td class=\"stages\">").bar(sums[i].stages, most_us).raw("</td><td>");
    page.link(fmt::format("log{}/events.json", i), "events.json");
    page.raw("</td><td class=\"long\">").text(log.path);
    if (const std::string damage = damage_text(log); !damage.empty()) {
      page.raw("<div class=\"bad\">").text(damage).raw("</div>");
    }
    page.raw("</td></tr>\n");
  }
  page.raw("</tbody></table>\n");
  add_more(page, sums.size());
  if (const std::string what = no_room_text(view.job->logs); !what.empty()) {
    page.raw("<p class=\"bad\">").text(what).raw("</p>\n");
  }
  page.raw(
      "<p class=\"quiet\">events.json is torch\u2019s own timeline: ui.perfetto.dev or "
      "chrome://tracing open it.</p>\n");
  page.raw("</section>\n");
}

void add_compiles(Html& page, const TraceView& view) {
  page.section("compiles", "Compilations");
  page.raw(
      "<form id=\"filter\"><label>Filter <input id=\"words\" type=\"search\" autocomplete=\"off\" "
      "placeholder=\"function, file, id — press / to come here\"></label> "
      "<label>Process <select id=\"log\"><option value=\"\">all</option></select></label> "
      "<label><input type=\"checkbox\" id=\"again\"> compiled again</label> "
      "<label><input type=\"checkbox\" id=\"cold\"> missed or bypassed a cache</label> "
      "<label><input type=\"checkbox\" id=\"broken\"> failed, not ended or restarted</label> "
      "<output id=\"count\"></output></form>\n"
      "<p class=\"legend\"><span class=\"s0\"></span> dynamo <span class=\"s1\"></span> aot "
      "<span class=\"s2\"></span> inductor <span class=\"s3\"></span> codegen "
      "<span class=\"s4\"></span> kernels</p>\n"
      "<table id=\"list\"></table>\n<p><button id=\"more\" type=\"button\" hidden>Show "
      "more</button></p>\n");
  page.raw("<noscript><p>This list needs JavaScript; every compilation has its page, too: ");
  std::size_t shown = 0;
  for (std::size_t log = 0; log < view.job->logs.size() && shown < kRowsMax; ++log) {
    for (const Compile& c : view.job->logs[log].compiles) {
      if (++shown > kRowsMax) break;
      page.link(folder_of(log, c) + "/index.html", c.id.text()).raw(" ");
    }
  }
  page.raw("</p></noscript></section>\n");
}

void add_caches(Html& page, const TraceView& view, const TraceSums& sums) {
  const std::size_t asked = sums.asked[0] + sums.asked[1] + sums.asked[2];
  if (asked == 0) return;
  page.section("caches", "Caches");
  page.raw("<p>").text(fmt::format(
      "Asked {}: {}, {}, {}", plural(asked, "time"), plural(sums.asked[0], "hit"),
      plural(sums.asked[1], "miss", "misses"), plural(sums.asked[2], "bypass", "bypassed")));
  if (sums.saved_us > 0) {
    page.text(fmt::format("; hits saved {}{}", html_us(sums.saved_us),
                          view.job->logs.size() > 1 ? " in all processes together" : ""));
  }
  page.raw("</p>\n");
  add_groups(page, view, bypass_groups(*view.job), false);
  add_groups(page, view, miss_groups(*view.job, view.misses), false);
  page.raw("</section>\n");
}

void add_autotune(Html& page, const TraceView& view) {
  if (view.autotune.empty()) return;
  page.section("autotune", "Autotuning");
  page.raw("<table>").head({"kernel", "#time", "#compiled", "#measured", "#descent", "#candidates",
                            "#times", "best", "cache"});
  page.raw("<tbody>");
  for (std::size_t i = 0; i < std::min(view.autotune.size(), kRowsMax); ++i) {
    const AutotuneCost& cost = view.autotune[i];
    page.raw("<tr>").cell(cost.kernel, "long").cell(html_us(cost.total_us()), "n");
    page.cell(html_us(cost.compile_us), "n").cell(html_us(cost.benchmark_us), "n");
    page.cell(html_us(cost.descent_us), "n");
    page.cell(cost.configs == 0 ? "–" : std::to_string(cost.configs), "n");
    page.cell(std::to_string(cost.runs), "n").cell(cost.best).cell(cost.cache).raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
  add_more(page, view.autotune.size());
  page.raw("</section>\n");
}

void add_divergences(Html& page, const TraceView& view) {
  if (view.divergences.empty()) return;
  page.section("ranks-differ", "Ranks that did not compile the same");
  page.raw("<table>").head({"id", "what", "how", "ranks"}).raw("<tbody>");
  for (std::size_t i = 0; i < std::min(view.divergences.size(), kRowsMax); ++i) {
    const Divergence& one = view.divergences[i];
    page.raw("<tr>").cell(one.id.text()).cell(one.what, "long").cell(one.how);
    page.cell(fmt::format("{}", fmt::join(one.ranks, ", ")), "long").raw("</tr>\n");
  }
  page.raw("</tbody></table>\n");
  add_more(page, view.divergences.size());
  page.raw("</section>\n");
}

// Compilations that failed, began again inside, or never ended.
void add_failures(Html& page, const TraceView& view) {
  std::vector<CompileRef> found;
  std::size_t count = 0;
  for (std::size_t log = 0; log < view.job->logs.size(); ++log) {
    const auto& compiles = view.job->logs[log].compiles;
    for (std::size_t i = 0; i < compiles.size(); ++i) {
      const Compile& c = compiles[i];
      if (c.failure.type.empty() && c.restart_reasons.empty() && c.finished) continue;
      if (++count <= kRowsMax) found.push_back({log, i});
    }
  }
  if (found.empty()) return;
  page.section("failures", "Failures and restarts");
  page.raw("<table>").head({"id", "process", "what", "how"}).raw("<tbody>");
  for (const CompileRef& at : found) {
    const ProcessLog& log = view.job->logs[at.log];
    const Compile& c = log.compiles[at.compile];
    page.raw("<tr><td>").link(folder_of(at.log, c) + "/index.html", c.id.text()).raw("</td>");
    page.cell(log_name(log)).cell(what_of(c), "long").raw("<td class=\"long\">");
    if (!c.failure.type.empty()) {
      page.raw("<div class=\"bad\">").text(c.failure.type + ": " + c.failure.reason);
      page.text(c.failure.where.empty() ? "" : " at " + c.failure.where).raw("</div>");
    }
    for (const std::string& reason : c.restart_reasons) {
      page.raw("<div>").text("began again: " + reason).raw("</div>");
    }
    if (!c.finished) page.raw("<div class=\"bad\">not ended</div>");
    page.raw("</td></tr>\n");
  }
  page.raw("</tbody></table>\n");
  add_more(page, count);
  page.raw("</section>\n");
}

void add_other_texts(Html& page, const TraceView& view) {
  bool any = false;
  for (std::size_t log = 0; log < view.job->logs.size(); ++log) {
    const auto& artifacts = view.job->logs[log].artifacts;
    if (artifacts.empty()) continue;
    if (!any) page.section("other", "Texts of no compilation");
    any = true;
    page.raw("<p>").text(log_name(view.job->logs[log]) + ": ");
    for (std::size_t i = 0; i < std::min(artifacts.size(), kRowsMax); ++i) {
      page.link(fmt::format("log{}/none/{}", log, payload_name(i, artifacts[i].name)),
                artifacts[i].name);
      page.raw(" ");
    }
    page.raw("</p>\n");
  }
  if (any) page.raw("</section>\n");
}

}  // namespace

std::string index_page(const TraceView& view, const PayloadText& text) {
  Html page("torch.compile: " + view.title, "", Html::Script::list);
  const TraceSums sums = sums_of(view.job->logs);
  page.raw("<header><h1>").text(view.title).raw("</h1>\n<p>");
  page.text(plural(view.job->logs.size(), "process", "processes"));
  if (!view.job->logs.empty() && !view.job->logs.front().torch_version.empty()) {
    page.text(" · torch " + view.job->logs.front().torch_version);
  }
  page.text(
      fmt::format(" · {} · {}", plural(sums.compiles, "compilation"), html_us(sums.total_us)));
  if (sums.unfinished > 0) page.text(fmt::format(" · {} not ended", sums.unfinished));
  if (sums.failed > 0) page.text(fmt::format(" · {} failed", sums.failed));
  page.raw("</p>\n").nav(
      "<a href=\"stacks.html\">Stacks</a> <a href=\"config.html\">Configuration</a>");
  page.raw("</header>\n<main>\n");
  add_ranks(page, view);
  add_compiles(page, view);
  if (const auto groups = recompile_groups(*view.job); !groups.empty()) {
    page.section("recompiles", "Compiled again");
    page.raw("<p>").text(fmt::format("{}, {}: the guard that failed, and what became dynamic",
                                     plural(sums.recompiles, "time"), html_us(sums.recompile_us)));
    page.raw("</p>\n");
    add_groups(page, view, groups, true);
    page.raw("</section>\n");
  }
  if (const auto groups = break_groups(*view.job); !groups.empty()) {
    page.section("breaks", "Graph breaks");
    add_groups(page, view, groups, false, &text);
    page.raw("</section>\n");
  }
  if (const auto groups = specialised_groups(*view.job); !groups.empty()) {
    page.section("specialised", "For one value only");
    page.raw("<p>Sizes and numbers of which the code asked for one value.</p>\n");
    add_groups(page, view, groups, false);
    page.raw("</section>\n");
  }
  add_caches(page, view, sums);
  add_autotune(page, view);
  add_divergences(page, view);
  add_failures(page, view);
  add_other_texts(page, view);
  page.raw("</main>\n");
  return page.finish();
}

// window.headwayCompiles = {"logs": […], "names": […], "rows": […]}: a row has numbers only, but
// for the id.
std::string compiles_script(const TraceView& view) {
  const auto quoted = [](const std::string& text) {
    constexpr auto kReplace = Json::error_handler_t::replace;
    return Json(text).dump(-1, ' ', true, kReplace);
  };
  std::string logs, rows, names;
  std::map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < view.job->logs.size(); ++i) {
    const ProcessLog& log = view.job->logs[i];
    logs += (i == 0 ? "" : ",") + quoted(log_name(log));
    for (const Compile& c : log.compiles) {
      const std::string what = what_of(c);
      const auto [name, added] = numbers.try_emplace(what, numbers.size());
      if (added) names += (name->second == 0 ? "" : ",") + quoted(what);
      Stages both = c.forward.stages;
      add(both, c.backward.stages);
      const std::string_view cache = cache_word(c);
      const int found = cache == "hit" ? 1 : cache == "miss" ? 2 : cache == "bypass" ? 3 : 0;
      const int flags = (c.is_recompile() ? 1 : 0) | (c.failure.type.empty() ? 0 : 2) |
                        (c.finished ? 0 : 4) | (c.breaks.empty() ? 0 : 8) |
                        (c.restart_reasons.empty() ? 0 : 16);
      rows += fmt::format("{}[{},\"{}\",{},{},{},{},{},{},{},{},{},{}]", rows.empty() ? "" : ",\n",
                          i, c.id.text(), name->second, c.total_us(), both.dynamo_us, both.aot_us,
                          both.inductor_us, both.codegen_us, both.kernels_us, found, flags,
                          c.artifacts.size());
    }
  }
  return fmt::format(
      "window.headwayCompiles = {{\"logs\":[{}],\n\"names\":[{}],\n\"rows\":[{}]}};\n", logs, names,
      rows);
}

}  // namespace headway::cli
