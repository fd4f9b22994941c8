// OTLP/JSON is protocol buffers' JSON with differences: identifiers in hexadecimal digits, enums as
// numbers. Integers of 64 bits are texts, as everywhere in that JSON.
#include <fmt/format.h>

#include <iterator>

#include "base/hash.h"
#include "interchange/json_text.h"
#include "otlp/encode.h"
#include "otlp/encode_parts.h"

namespace headway::otlp {
namespace {

using interchange::append_json_string;

void append_value(std::string& out, const Value& value) {
  const auto at = std::back_inserter(out);
  if (const auto* text = std::get_if<std::string>(&value)) {
    out += "{\"stringValue\":";
    append_json_string(out, *text);
    out += '}';
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    fmt::format_to(at, "{{\"boolValue\":{}}}", *flag);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    fmt::format_to(at, "{{\"intValue\":\"{}\"}}", *number);
  } else if (const auto* real = std::get_if<double>(&value)) {
    fmt::format_to(at, "{{\"doubleValue\":{}}}", *real);
  } else {
    out += "{\"arrayValue\":{\"values\":[";
    for (const std::string& each : std::get<std::vector<std::string>>(value)) {
      if (out.back() != '[') out += ',';
      append_value(out, each);
    }
    out += "]}}";
  }
}

void append_attributes(std::string& out, const Attributes& attributes) {
  out += "\"attributes\":[";
  for (const Attribute& attribute : attributes) {
    if (out.back() != '[') out += ',';
    out += "{\"key\":";
    append_json_string(out, attribute.key);
    out += ",\"value\":";
    append_value(out, attribute.value);
    out += '}';
  }
  out += ']';
}

void append_event(std::string& out, const SpanEvent& event) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"timeUnixNano\":\"{}\",\"name\":", unix_ns(event.t_ns));
  append_json_string(out, event.name);
  out += ',';
  append_attributes(out, event.attributes);
  out += '}';
}

void append_span(std::string& out, const Span& span) {
  const auto at = std::back_inserter(out);
  fmt::format_to(at, "{{\"traceId\":\"{}\",\"spanId\":\"{}\",", base::hex(span.trace),
                 base::hex(span.id));
  if (span.parent) fmt::format_to(at, "\"parentSpanId\":\"{}\",", base::hex(*span.parent));
  out += "\"name\":";
  append_json_string(out, span.name);
  fmt::format_to(at, ",\"kind\":1,\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",",
                 unix_ns(span.begin_ns), unix_ns(span.end_ns));
  append_attributes(out, span.attributes);
  if (!span.events.empty()) {
    out += ",\"events\":[";
    for (const SpanEvent& event : span.events) {
      if (out.back() != '[') out += ',';
      append_event(out, event);
    }
    out += ']';
  }
  if (span.failed) {
    out += ",\"status\":{\"code\":2,\"message\":";
    append_json_string(out, span.failure);
    out += '}';
  }
  out += '}';
}

}  // namespace

void append_traces_json(std::string& out, const Source& source, std::span<const Span> spans) {
  out += "{\"resourceSpans\":[{\"resource\":{";
  append_attributes(out, source.resource);
  fmt::format_to(std::back_inserter(out), "}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"{}\"",
                 kScopeName);
  out += ",\"version\":";
  append_json_string(out, source.version);
  out += "},\"spans\":[";
  for (const Span& span : spans) {
    if (out.back() != '[') out += ',';
    append_span(out, span);
  }
  out += "]}]}]}\n";
}

}  // namespace headway::otlp
