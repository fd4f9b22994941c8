// The value behind `key=` or `key: `, whatever the notation, and whether it can be a secret. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace headway::failure {

struct Value {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool quoted = false;
};

// The value that begins at `at`: "…", '…', \"…\" of JSON inside JSON, or bare.
[[nodiscard]] Value value_at(std::string_view text, std::size_t at);

// A value that holds the place of a secret: None, ${TOKEN}, <token>, ****, an expression of code.
[[nodiscard]] bool is_placeholder(std::string_view value, std::string_view key, bool quoted);

// Letters mixed with digits or case, as only a machine writes them: no word, no number, no unit.
[[nodiscard]] bool looks_random(std::string_view value);
[[nodiscard]] bool is_number(std::string_view value);

}  // namespace headway::failure
