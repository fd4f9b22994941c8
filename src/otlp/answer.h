// What an OTLP endpoint says of a request, and what to do then. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace headway::otlp {

// Of a request that was taken, what was not.
struct PartialSuccess {
  std::int64_t rejected = 0;  // spans or data points
  std::string message;        // one short line; may come with nothing rejected
  bool operator==(const PartialSuccess&) const = default;
};
inline constexpr std::size_t partial_message_max = 200;

// An Export…ServiceResponse. Empty, and anything that is none: all was taken.
[[nodiscard]] PartialSuccess parse_partial_success(std::string_view bytes);

enum class Verdict : std::uint8_t {
  taken,
  later,    // 429, 502, 503, 504, and no answer at all: the same again
  refused,  // for good
};
[[nodiscard]] Verdict verdict_of(const net::Exchange& exchange);

// In seconds only, which is what collectors send; at most an hour.
[[nodiscard]] std::optional<std::int64_t> retry_after_ns(const net::HttpAnswer& answer);

}  // namespace headway::otlp
