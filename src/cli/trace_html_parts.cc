#include "cli/trace_html_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/xml_text.h"
#include "cli/human.h"

namespace headway::cli {
namespace {

using namespace compile;

constexpr Style kStyle{.color = false, .unicode = true, .width = width_max};
constexpr std::size_t kNameBytesMax = 80;
constexpr std::int64_t kBarUnits = 10'000;

// Nothing but this folder's own files, and no script inside a page.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'";

}  // namespace

Html::Html(std::string_view title, std::string_view up, Script script) {
  out_ = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n";
  out_ += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy);
  out_ += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out_ += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  out_ += fmt::format("<title>{}</title>\n", base::xml_escaped(title));
  out_ += fmt::format("<link rel=\"stylesheet\" href=\"{}report.css\">\n", up);
  if (script == Script::list) out_ += "<script src=\"compiles.js\" defer></script>\n";
  if (script != Script::none) out_ += "<script src=\"report.js\" defer></script>\n";
}

Html& Html::text(std::string_view text) {
  out_ += base::xml_escaped(text);
  return *this;
}

Html& Html::cell(std::string_view text, std::string_view style) {
  out_ += style.empty() ? "<td>" : fmt::format("<td class=\"{}\">", style);
  return this->text(text).raw("</td>");
}

Html& Html::head(const std::vector<std::string_view>& names) {
  out_ += "<thead><tr>";
  for (const std::string_view name : names) {
    // A name that begins with '#' is of numbers.
    const bool number = name.starts_with('#');
    out_ += fmt::format("<th scope=\"col\"{}>{}</th>", number ? " class=\"n\"" : "",
                        name.substr(number ? 1 : 0));
  }
  return raw("</tr></thead>");
}

Html& Html::link(std::string_view href, std::string_view text) {
  out_ += fmt::format("<a href=\"{}\">", base::xml_escaped(href));
  return this->text(text).raw("</a>");
}

Html& Html::bar(const Stages& stages, std::int64_t whole_us) {
  constexpr std::array<std::string_view, 5> kNames = {"dynamo", "aot", "inductor", "codegen",
                                                      "kernels"};
  const std::array<std::int64_t, 5> parts = {stages.dynamo_us, stages.aot_us, stages.inductor_us,
                                             stages.codegen_us, stages.kernels_us};
  std::string label, rects;
  double x = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] <= 0 || whole_us <= 0) continue;
    const double width = static_cast<double>(parts[i]) / static_cast<double>(whole_us) * kBarUnits;
    rects += fmt::format("<rect class=\"s{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"10\"/>", i, x,
                         width);
    x += width;
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ", kNames[i], html_us(parts[i]));
  }
  out_ += fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 {} 10\" preserveAspectRatio=\"none\" role=\"img\">"
      "<title>{}</title>{}</svg>",
      kBarUnits, label, rects);
  return *this;
}

Html& Html::section(std::string_view id, std::string_view title) {
  nav_ += fmt::format("<a href=\"#{}\">{}</a> ", id, title);
  return raw(fmt::format("<section id=\"{}\"><h2>{}</h2>\n", id, title));
}

Html& Html::nav(std::string_view more) {
  out_ += "<nav>";
  nav_at_ = out_.size();
  return raw(more).raw("</nav>\n");
}

std::string Html::finish() {
  if (nav_at_ != std::string::npos) out_.insert(nav_at_, nav_);
  out_ += "</html>\n";
  return std::move(out_);
}

std::string html_us(std::int64_t us) {
  return us == 0 ? "–" : human_duration(us * 1000, kStyle);
}

std::string folder_of(const CompileId& id) {
  std::string out = id.text();
  std::replace(out.begin(), out.end(), '/', '_');
  std::replace(out.begin(), out.end(), '!', 'a');
  return out;
}

std::string folder_of(std::size_t log, const Compile& compile) {
  return fmt::format("log{}/{}", log, folder_of(compile.id));
}

std::string payload_name(std::size_t number, std::string_view name) {
  std::string out = fmt::format("{:02}-", number);
  for (const char c : name.substr(0, kNameBytesMax)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain || c == '-' || c == '.' ? c : '_';
  }
  return out + ".txt";
}

std::string log_name(const ProcessLog& log) {
  return log.rank >= 0 ? fmt::format("rank {}", log.rank) : fmt::format("process {}", log.process);
}

}  // namespace headway::cli
