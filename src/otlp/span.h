// Spans as OpenTelemetry has them: what a job, its attempts and their stages are told as. Plain
// data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headway::otlp {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

using Value = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;
struct Attribute {
  std::string key;
  Value value;
};
using Attributes = std::vector<Attribute>;

struct SpanEvent {
  std::int64_t t_ns = 0;
  std::string name;
  Attributes attributes;
};

struct Span {
  TraceId trace{};
  SpanId id{};
  std::optional<SpanId> parent;
  std::string name;
  std::int64_t begin_ns = 0, end_ns = 0;  // since 1970
  Attributes attributes;
  std::vector<SpanEvent> events;
  bool failed = false;
  std::string failure;  // why, in a line
};

// Who tells it: one for all that is sent together.
struct Source {
  Attributes resource;
  std::string version;  // of Headway
};

}  // namespace headway::otlp
