// simdjson's DOM, asked for what may not be there. For .cc files only: the header is heavy.
#pragma once

#define SIMDJSON_EXCEPTIONS 0  // every error is a code: nothing here may throw
#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/cut_text.h"

namespace headway::compile::dom {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;
using simdjson::dom::parser;

// `json` is inside a buffer with padding behind it (ByteWindow). False: not JSON.
[[nodiscard]] inline bool parse(parser& with, std::string_view json, element& out) {
  constexpr bool kCopy = false;
  return !with.parse(json.data(), json.size(), kCopy).get(out);
}

[[nodiscard]] inline std::string_view text(const element& of, std::string_view key) {
  std::string_view out;
  return of.at_key(key).get_string().get(out) ? std::string_view() : out;
}
[[nodiscard]] inline std::string text(const element& of, std::string_view key,
                                      std::size_t bytes_max) {
  return std::string(base::cut_text(text(of, key), bytes_max));
}

// A whole number, also one that is written as 12.0; `otherwise` where there is none.
[[nodiscard]] inline std::int64_t number(const element& of, std::string_view key,
                                         std::int64_t otherwise = 0) {
  std::int64_t whole = 0;
  if (!of.at_key(key).get_int64().get(whole)) return whole;
  double real = 0;
  if (of.at_key(key).get_double().get(real)) return otherwise;
  constexpr double kMax = 9.0e18;
  return std::isfinite(real) && std::abs(real) < kMax ? std::llround(real) : otherwise;
}

}  // namespace headway::compile::dom
