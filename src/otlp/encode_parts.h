// What requests for spans and for metrics have in common. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "otlp/proto_writer.h"
#include "otlp/span.h"

namespace headway::otlp {

inline constexpr std::string_view kScopeName = "headway";

// The protocol knows no time before 1970.
[[nodiscard]] inline std::uint64_t unix_ns(std::int64_t t_ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(t_ns, 0));
}

// Messages Resource (field 1 of its parent), InstrumentationScope (likewise) and KeyValue.
void write_resource(ProtoWriter& out, const Source& source);
void write_scope(ProtoWriter& out, const Source& source);
void write_attributes(ProtoWriter& out, std::uint32_t field, const Attributes& attributes);

}  // namespace headway::otlp
