// Values of a key or a configuration as exact or coarse texts. For .cc files only: simdjson is
// heavy.
#pragma once

#include <optional>
#include <string>

#include "autotune/shape_class.h"
#include "compile/dom.h"

namespace headway::autotune {

namespace dom = compile::dom;

// None: a list, an object, or a number beyond 64 bits.
[[nodiscard]] inline std::optional<std::string> value_text(const dom::element& value, bool coarse) {
  std::int64_t whole = 0;
  double real = 0;
  bool flag = false;
  std::string_view text;
  if (value.is_null()) return "none";
  if (!value.get_bool().get(flag)) return flag ? "true" : "false";
  if (!value.get_string().get(text)) return exact_text(text);
  // Not is_double(): that is true of whole numbers, too.
  if (value.type() == simdjson::dom::element_type::DOUBLE && !value.get_double().get(real)) {
    return exact_real(real);
  }
  if (value.get_int64().get(whole)) return std::nullopt;
  return coarse ? class_of_integer(whole) : std::to_string(whole);
}

// "" where the key is none that can be classed.
[[nodiscard]] std::string class_of_key(const dom::element& key);

// Seconds or milliseconds from `text`'s number; infinity for null, none for what is no time.
[[nodiscard]] std::optional<double> time_of(const dom::element& value);

}  // namespace headway::autotune
