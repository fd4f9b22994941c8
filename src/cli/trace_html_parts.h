// The pages of a trace's report, as text. Everything that comes from a trace is escaped; names of
// files and folders are made here, of digits and plain letters. Pure but for texts that are read
// from their logs; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/trace_groups.h"
#include "cli/trace_views.h"

namespace headway::cli {

class Html {
 public:
  enum class Script : std::uint8_t { none, filter, list };
  // `up`: the way to the report's top, "" or "../../".
  Html(std::string_view title, std::string_view up, Script script);
  Html& raw(std::string_view markup) {
    out_ += markup;
    return *this;
  }
  Html& text(std::string_view text);  // escaped
  Html& cell(std::string_view text, std::string_view style = {});
  Html& head(const std::vector<std::string_view>& names);  // of a table
  Html& link(std::string_view href, std::string_view text);
  // A part of the page that its nav() leads to.
  Html& section(std::string_view id, std::string_view title);
  Html& nav(std::string_view more);  // `more`: markup of further links
  // The times of stages as a bar whose whole is `whole_us`.
  Html& bar(const compile::Stages& stages, std::int64_t whole_us);
  [[nodiscard]] std::string finish();

 private:
  std::string out_;
  std::size_t nav_at_ = std::string::npos;
  std::string nav_;
};

[[nodiscard]] std::string html_us(std::int64_t us);  // "1.23 s", "–"
// "0/1" → "0_1", "!2/0/1" → "a2_0_1".
[[nodiscard]] std::string folder_of(const compile::CompileId& id);
[[nodiscard]] std::string folder_of(std::size_t log, const compile::Compile& compile);
// "03-inductor_output_code.txt".
[[nodiscard]] std::string payload_name(std::size_t number, std::string_view name);
[[nodiscard]] std::string log_name(const compile::ProcessLog& log);  // "rank 3"

// The text of a payload of a log, cut.
using PayloadText = std::function<std::string(std::size_t log, const compile::Place& place)>;
inline constexpr std::size_t kRowsMax = 300;  // of a list on the index

[[nodiscard]] std::string index_page(const TraceView& view, const PayloadText& text);
[[nodiscard]] std::string compiles_script(const TraceView& view);
[[nodiscard]] std::string stacks_page(const TraceView& view);
// `metrics`: JSON of each log's first record that has the configuration; "" where there is none.
[[nodiscard]] std::string config_page(const TraceView& view,
                                      const std::vector<std::string>& metrics);
// `misses`: those of this compilation.
[[nodiscard]] std::string compile_page(const TraceView& view, CompileRef at,
                                       const std::vector<const compile::MissCause*>& misses,
                                       const PayloadText& text);

// Made from trace_report.css and trace_report.js.
[[nodiscard]] std::string_view report_css();
[[nodiscard]] std::string_view report_js();

}  // namespace headway::cli
