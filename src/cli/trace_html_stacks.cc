// Where compilations were called from, as a tree; and the whole configuration.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/human.h"
#include "cli/trace_html_parts.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr std::size_t kShownMax = 20'000;    // calls of all logs
constexpr std::size_t kNestedMax = 120;      // browsers have limits of their own
constexpr std::size_t kSettingsMax = 5'000;  // of one configuration

class Tree {
 public:
  Tree(Html& page, std::size_t log_number, const ProcessLog& log)
      : page_(page),
        log_number_(log_number),
        log_(log),
        below_(log.stacks.nodes().size()),
        compiles_(log.stacks.nodes().size()) {
    const auto& nodes = log.stacks.nodes();
    for (std::uint32_t i = 1; i < nodes.size(); ++i) below_[nodes[i].parent].push_back(i);
    for (std::size_t i = 0; i < log.compiles.size(); ++i) {
      compiles_[log.compiles[i].stack].push_back(i);
    }
  }

  // Calls one below the other without a branch stay in one row of the tree. False: no more room.
  bool add(std::uint32_t at, std::size_t depth, std::size_t& shown) {
    std::vector<std::uint32_t> chain = {at};
    while (below_[chain.back()].size() == 1 && compiles_[chain.back()].empty()) {
      chain.push_back(below_[chain.back()].front());
    }
    shown += chain.size();
    if (shown > kShownMax || depth > kNestedMax) return false;
    const std::uint32_t last = chain.back();
    page_.raw("<li>");
    for (const std::uint32_t one : chain) {
      const StackNode& node = log_.stacks.nodes()[one];
      page_.raw("<div>").text(fmt::format("{}:{} ", log_.stacks.name(node.file), node.line));
      page_.raw("<b>").text(log_.stacks.name(node.function)).raw("</b></div>");
    }
    add_links(last);
    bool room = true;
    if (!below_[last].empty()) {
      page_.raw("<details open><summary>")
          .text(plural(below_[last].size(), "call"))
          .raw("</summary><ul>\n");
      for (const std::uint32_t child : below_[last]) {
        room = add(child, depth + 1, shown);
        if (!room) break;
      }
      page_.raw("</ul></details>");
    }
    page_.raw("</li>\n");
    return room;
  }

  [[nodiscard]] const std::vector<std::uint32_t>& roots() const { return below_[0]; }
  void add_links(std::uint32_t at) {
    if (compiles_[at].empty()) return;
    page_.raw("<div>");
    for (std::size_t i = 0; i < std::min(compiles_[at].size(), kRowsMax); ++i) {
      const Compile& c = log_.compiles[compiles_[at][i]];
      page_.link(folder_of(log_number_, c) + "/index.html",
                 fmt::format("{} {}", c.id.text(), html_us(c.total_us())));
      page_.raw(" ");
    }
    page_.raw("</div>");
  }

 private:
  Html& page_;
  const std::size_t log_number_;
  const ProcessLog& log_;
  std::vector<std::vector<std::uint32_t>> below_;
  std::vector<std::vector<std::size_t>> compiles_;
};

using Settings = std::map<std::string, std::string>;

// "inductor_config.max_autotune" → "false".
Settings settings_of(const std::string& metrics) {
  constexpr auto kThrow = false;
  Settings out;
  const Json record = Json::parse(metrics, nullptr, kThrow);
  if (!record.is_object() || !record.contains("compilation_metrics")) return out;
  const Json& told = record["compilation_metrics"];
  if (!told.is_object()) return out;
  for (const auto& [key, value] : told.items()) {
    if (!key.ends_with("_config") || !value.is_string()) continue;
    const Json config = Json::parse(value.get<std::string>(), nullptr, kThrow);
    if (!config.is_object()) continue;
    for (const auto& [name, setting] : config.items()) {
      if (out.size() >= kSettingsMax) return out;
      constexpr auto kReplace = Json::error_handler_t::replace;
      out[key + "." + name] = setting.dump(-1, ' ', false, kReplace);
    }
  }
  return out;
}

std::string back_link() {
  return "<header><p><a href=\"index.html\">All compilations</a></p>\n";
}

}  // namespace

std::string stacks_page(const TraceView& view) {
  Html page("Stacks: " + view.title, "", Html::Script::none);
  page.raw(back_link()).raw("<h1>Where compilations were called from</h1></header>\n<main>\n");
  std::size_t shown = 0;
  for (std::size_t i = 0; i < view.job->logs.size(); ++i) {
    const ProcessLog& log = view.job->logs[i];
    Tree tree(page, i, log);
    page.raw("<section><h2>").text(log_name(log)).raw("</h2>\n<ul class=\"tree\">");
    bool room = true;
    for (const std::uint32_t root : tree.roots()) {
      room = tree.add(root, 0, shown);
      if (!room) break;
    }
    page.raw("</ul>\n<p>without a stack: ");
    tree.add_links(0);
    page.raw("</p>\n</section>\n");
    if (room) continue;
    page.raw("<p class=\"quiet\">More calls than a page can show were left out.</p>\n");
    break;
  }
  page.raw("</main>\n");
  return page.finish();
}

std::string config_page(const TraceView& view, const std::vector<std::string>& metrics) {
  Html page("Configuration: " + view.title, "", Html::Script::filter);
  page.raw(back_link()).raw("<h1>Configuration</h1></header>\n<main>\n");
  std::size_t first = 0;
  while (first < metrics.size() && metrics[first].empty()) ++first;
  if (first == metrics.size()) {
    page.raw("<p>No log tells its configuration: no compilation has ended.</p></main>\n");
    return page.finish();
  }
  const Settings settings = settings_of(metrics[first]);
  std::map<std::string, std::string> others;  // setting → what other processes have
  for (std::size_t i = first + 1; i < metrics.size(); ++i) {
    if (metrics[i].empty()) continue;
    Settings own = settings_of(metrics[i]);
    own.insert(settings.begin(), settings.end());  // so that none is missing in the loop
    for (const auto& [name, value] : own) {
      const auto at = settings.find(name);
      if (at != settings.end() && at->second == value) continue;
      others[name] += fmt::format("{}: {}\n", log_name(view.job->logs[i]), value);
    }
  }
  page.raw("<p>").text(
      fmt::format("{} of {}", plural(settings.size(), "setting"), log_name(view.job->logs[first])));
  page.text(others.empty() ? "."
                           : fmt::format("; {} not the same in every process.",
                                         plural(others.size(), "is", "are")));
  page.raw(
      "</p>\n<form><label>Filter <input data-filter=\"settings\" type=\"search\" "
      "autocomplete=\"off\"></label></form>\n<table id=\"settings\">");
  page.head({"setting", "value", "others"}).raw("<tbody>");
  for (const auto& [name, value] : settings) {
    const auto other = others.find(name);
    page.raw("<tr>").cell(name).cell(value, "long");
    page.cell(other == others.end() ? "" : other->second, "long bad").raw("</tr>\n");
  }
  page.raw("</tbody></table>\n</main>\n");
  return page.finish();
}

}  // namespace headway::cli
