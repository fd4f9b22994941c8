// The first line of a record in a TORCH_TRACE log:
//
//   V1117 12:13:13.262000 11797 torch/_dynamo/utils.py:2350] {"dynamo_start": {…}, "frame_id": 0,
//   …}
//
// Lines of its payload follow, each behind a tab (trace_reader.h). What stands before the JSON is
// glog's prefix: no year, the writer's local time. Pure; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headway::compile {

struct LinePrefix {
  std::uint8_t month = 0, day = 0;
  std::int64_t day_us = 0;  // since midnight
  std::uint64_t process = 0;
  std::string_view source;  // "torch/_dynamo/utils.py:2350"
  std::string_view json;    // the rest of the line
};

// None: this is not the beginning of a record.
[[nodiscard]] std::optional<LinePrefix> parse_prefix(std::string_view line);

// Which compilation a record is about: "0/1", "!2/0/1" with compiled autograd, "-" for none. Torch
// counts frames and their compilations; `attempt` counts Dynamo's restarts of one compilation.
struct CompileId {
  std::int32_t autograd = -1;
  std::int32_t frame = -1;
  std::int32_t compile = -1;
  auto operator<=>(const CompileId&) const = default;
  [[nodiscard]] bool known() const { return autograd >= 0 || frame >= 0; }
  [[nodiscard]] std::string text() const;
};
// As torch writes it in metrics and events: "0/1", "!2/0/1", "!2". None: it is not one.
[[nodiscard]] std::optional<CompileId> parse_compile_id(std::string_view text);

// The JSON of a record's first line. Views are into it, or into the parser until its next call.
struct Envelope {
  std::string_view type;      // "dynamo_start"; its first key that is none of the others here
  std::string_view metadata;  // JSON, of that key
  CompileId id;
  std::int32_t attempt = -1;
  std::int32_t rank = -1;
  std::string_view payload_md5;  // 32 digits; empty: there is no payload
};

// `json` has to have simdjson's padding behind it. False: not such an object.
class EnvelopeParser {
 public:
  EnvelopeParser();
  ~EnvelopeParser();
  EnvelopeParser(EnvelopeParser&&) noexcept;
  EnvelopeParser& operator=(EnvelopeParser&&) noexcept;
  bool parse(std::string_view json, Envelope& out);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace headway::compile
