#include "autotune/shape_class.h"

#include <fmt/format.h>

#include <bit>

namespace headway::autotune {

std::string class_of_integer(std::int64_t value) {
  if (value < 2) return fmt::to_string(value);
  const auto power = std::bit_width(static_cast<std::uint64_t>(value)) - 1;
  return fmt::format("2^{}{}", power, value % 16 == 0 ? "/16" : "");
}

std::string exact_real(double value) {
  return fmt::format("f:{:016x}", std::bit_cast<std::uint64_t>(value));
}

std::string exact_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == ':' || c == '-';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "'";
}

}  // namespace headway::autotune
