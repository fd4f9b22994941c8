#include "cache/kind.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "cache/format.h"

namespace headway::cache {
namespace {

constexpr std::size_t kContentNameDigits = 51;

// How many bytes the UTF-8 character at the front of `text` has; 0: it is none that may be shown.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  std::uint32_t code = first & (0xFF >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t least[] = {0, 0, 0xA0, 0x800, 0x10000};  // below 0xA0: control characters
  if (code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  // What turns the direction of writing round could make a path look like another one.
  if ((code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
      (code >= 0x2066 && code <= 0x2069)) {
    return 0;
  }
  return bytes;
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max || name.front() == '.') return false;
  while (!name.empty()) {
    const std::size_t bytes = character_bytes(name);
    if (bytes == 0 || name.front() == '\\') return false;
    name.remove_prefix(bytes);
  }
  return true;
}

// Of a key or a hash as torch makes them.
bool is_plain(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '=' || c == '+';
  });
}

bool is_hashed_folder(std::string_view name) {
  return name.size() == 2 && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

bool is_number(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// What a compiler left on its way, and what is only of this moment.
bool is_waste(std::string_view name) {
  constexpr std::string_view ends[] = {".lock", ".tmp", ".o", ".gch", ".pch", ".d"};
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

std::optional<std::vector<std::string_view>> parts_of(std::string_view path) {
  if (path.size() > path_bytes_max) return std::nullopt;
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    if (!is_name(parts.back()) || parts.size() > path_depth_max) return std::nullopt;
    begin = end + 1;
  }
  return parts;
}

Kind kind_of_code(std::string_view name) {
  if (name.ends_with(".best_config")) return Kind::autotune;
  return name.ends_with(".so") ? Kind::library : Kind::source;
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::inductor:
      return "inductor";
    case Kind::aot_autograd:
      return "aot_autograd";
    case Kind::source:
      return "source";
    case Kind::library:
      return "library";
    case Kind::autotune:
      return "autotune";
    case Kind::pgo:
      return "pgo";
    case Kind::precompile:
      return "precompile";
    case Kind::triton:
      return "triton";
    case Kind::selection:
      return "selection";
    case Kind::blob:
      return "blob";
  }
  HW_CHECK(false);
  return "";
}

std::optional<Kind> kind_of_number(std::uint8_t number) {
  for (const Kind kind : all_kinds) {
    if (static_cast<std::uint8_t>(kind) == number) return kind;
  }
  return std::nullopt;
}

std::optional<Kind> kind_of_path(std::string_view path) {
  const auto found = parts_of(path);
  if (!found || is_waste(found->back())) return std::nullopt;
  const std::vector<std::string_view>& parts = *found;
  const std::size_t depth = parts.size();
  if (parts[0] == "dynamo" && depth == 2) {
    const bool state = parts[1].starts_with("code_state_") && parts[1].ends_with(".pkl");
    return state ? std::optional(Kind::pgo) : std::nullopt;
  }
  if (!std::ranges::all_of(parts, is_plain)) return std::nullopt;
  if (parts[0] == "fxgraph" && depth == 4) return Kind::inductor;
  if (parts[0] == "aotautograd" && depth == 3) return Kind::aot_autograd;
  if (parts[0] == "dynamo" && depth == 3 && parts[2] == "entry") return Kind::precompile;
  if (parts[0] == "triton" && depth == 4 && is_number(parts[1])) return Kind::triton;
  if (parts[0] == "cache" && depth == 2) return Kind::selection;
  if (is_hashed_folder(parts[0]) && depth == 2) return kind_of_code(parts[1]);
  if (parts[0] == "mega" && depth == 3 && base::sha256_of_hex(parts[1]) &&
      (parts[2] == "order" || base::sha256_of_hex(parts[2]))) {
    return Kind::blob;
  }
  return std::nullopt;
}

bool is_cache_folder(std::string_view name) {
  constexpr std::string_view names[] = {"fxgraph", "aotautograd", "dynamo", "triton", "cache"};
  return is_hashed_folder(name) || std::ranges::find(names, name) != std::end(names);
}

bool is_named_by_content(Kind kind) {
  return kind == Kind::inductor || kind == Kind::aot_autograd;
}

std::string content_name(const base::Sha256& digest) {
  constexpr std::string_view digits = "abcdefghijklmnopqrstuvwxyz234567";
  std::string name;
  for (std::size_t i = 0; i < kContentNameDigits; ++i) {
    const std::size_t bit = i * 5;
    unsigned pair = static_cast<unsigned>(digest[bit / 8]) << 8;
    if (bit / 8 + 1 < digest.size()) pair |= digest[bit / 8 + 1];
    name += digits[pair >> (11 - bit % 8) & 31];
  }
  return name;
}

}  // namespace headway::cache
