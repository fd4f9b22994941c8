// What a secret looks like: a list of shapes, each with its kind. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace headway::failure {

struct Secret {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view kind;  // letters, digits and '-'
};

// The first secret of the first shape that is found; nothing where the piece of text holds none.
[[nodiscard]] std::optional<Secret> find_secret(std::string_view piece);

// False: there is no secret in it. Much cheaper than find_secret().
[[nodiscard]] bool may_hold_secret(std::string_view text);

// The line begins a private key that does not end in it.
[[nodiscard]] bool opens_private_key(std::string_view text);

}  // namespace headway::failure
