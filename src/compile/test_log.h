// For tests: a TORCH_TRACE log in the making.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace headway::compile {

class TestLog {
 public:
  // `id` is "0/1" or "": what comes behind the metadata. `payload` without tabs.
  TestLog& add(std::string_view type, std::string_view metadata, std::string_view id = {},
               std::string_view payload = {}) {
    text_ += fmt::format("V1117 12:13:13.262000 11797 torch/x.py:1] {{\"{}\": {}", type, metadata);
    if (rank_ >= 0) text_ += fmt::format(", \"rank\": {}", rank_);
    if (const auto slash = id.find('/'); slash != std::string_view::npos) {
      text_ += fmt::format(", \"frame_id\": {}, \"frame_compile_id\": {}, \"attempt\": 0",
                           id.substr(0, slash), id.substr(slash + 1));
    }
    if (!payload.empty()) text_ += ", \"has_payload\": \"00000000000000000000000000000000\"";
    text_ += "}\n";
    if (payload.empty()) return *this;
    text_ += '\t';
    for (const char c : payload) text_ += c == '\n' ? std::string("\n\t") : std::string(1, c);
    text_ += '\n';
    return *this;
  }
  TestLog& artifact(std::string_view name, std::string_view id, std::string_view payload) {
    return add("artifact", fmt::format(R"({{"name": "{}", "encoding": "string"}})", name), id,
               payload);
  }
  // Compiled from `start_s` on, for `seconds`, a function of train.py.
  TestLog& metrics(std::string_view id, std::string_view name, double start_s, double seconds,
                   std::string_view more = {}) {
    return add("compilation_metrics",
               fmt::format(R"({{"compile_id": "{}", "co_name": "{}", "co_filename": "/a/train.py",)"
                           R"( "co_firstlineno": 12, "graph_op_count": 3, "graph_input_count": 2,)"
                           R"( "start_time_us": {:.0f}, "duration_us": {:.0f}{}{}}})",
                           id, name, start_s * 1e6, seconds * 1e6, more.empty() ? "" : ", ", more),
               id);
  }
  TestLog& rank(int rank) {
    rank_ = rank;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  int rank_ = -1;
};

}  // namespace headway::compile
