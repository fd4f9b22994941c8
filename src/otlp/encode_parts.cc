#include "otlp/encode_parts.h"

#include "interchange/json_text.h"

namespace headway::otlp {
namespace {

using interchange::valid_utf8;

// AnyValue is a oneof: an empty text or a zero is written, too.
void write_value(ProtoWriter& out, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.present_text(1, valid_utf8(*text));
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out.present_number(2, *flag ? 1 : 0);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out.present_number(3, static_cast<std::uint64_t>(*number));
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.present_real(4, *real);
  } else {
    out.message(5, [&](ProtoWriter& array) {
      for (const std::string& each : std::get<std::vector<std::string>>(value)) {
        array.message(1, [&](ProtoWriter& inner) { inner.present_text(1, valid_utf8(each)); });
      }
    });
  }
}

}  // namespace

void write_attributes(ProtoWriter& out, std::uint32_t field, const Attributes& attributes) {
  for (const Attribute& attribute : attributes) {
    out.message(field, [&](ProtoWriter& pair) {
      pair.text(1, valid_utf8(attribute.key));
      pair.message(2, [&](ProtoWriter& inner) { write_value(inner, attribute.value); });
    });
  }
}

void write_resource(ProtoWriter& out, const Source& source) {
  out.message(1, [&](ProtoWriter& resource) { write_attributes(resource, 1, source.resource); });
}

void write_scope(ProtoWriter& out, const Source& source) {
  out.message(1, [&](ProtoWriter& scope) {
    scope.text(1, kScopeName);
    scope.text(2, source.version);
  });
}

}  // namespace headway::otlp
