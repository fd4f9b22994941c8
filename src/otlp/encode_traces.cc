#include <algorithm>

#include "interchange/json_text.h"
#include "otlp/encode.h"
#include "otlp/encode_parts.h"

namespace headway::otlp {
namespace {

constexpr std::uint64_t kKindInternal = 1, kStatusError = 2;

void write_event(ProtoWriter& out, const SpanEvent& event) {
  out.fixed(1, unix_ns(event.t_ns));
  out.text(2, interchange::valid_utf8(event.name));
  write_attributes(out, 3, event.attributes);
}

void write_span(ProtoWriter& out, const Span& span) {
  out.bytes(1, span.trace);
  out.bytes(2, span.id);
  if (span.parent) out.bytes(4, *span.parent);
  out.text(5, interchange::valid_utf8(span.name));
  out.number(6, kKindInternal);
  out.fixed(7, unix_ns(span.begin_ns));
  out.fixed(8, unix_ns(span.end_ns));
  write_attributes(out, 9, span.attributes);
  for (const SpanEvent& event : span.events) {
    out.message(11, [&](ProtoWriter& inner) { write_event(inner, event); });
  }
  if (span.failed) {
    out.message(15, [&](ProtoWriter& status) {
      status.text(2, interchange::valid_utf8(span.failure));
      status.number(3, kStatusError);
    });
  }
}

}  // namespace

std::string encode_traces(const Source& source, std::span<const Span> spans) {
  ProtoWriter out;
  out.message(1, [&](ProtoWriter& resource_spans) {
    write_resource(resource_spans, source);
    resource_spans.message(2, [&](ProtoWriter& scope_spans) {
      write_scope(scope_spans, source);
      for (const Span& span : spans) {
        scope_spans.message(2, [&](ProtoWriter& inner) { write_span(inner, span); });
      }
    });
  });
  return out.take();
}

}  // namespace headway::otlp
