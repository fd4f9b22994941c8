#include "object_store/place.h"

#include <fmt/format.h>

namespace headway::object_store {
namespace {

// A prefix leaves room in a key's 1024 bytes for what comes behind it.
constexpr std::size_t kPrefixBytesMax = 700;

bool is_bucket(std::string_view name) {
  if (name.size() < 3 || name.size() > 63) return false;
  for (const char c : name) {
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.') return false;
  }
  const auto is_edge = [](char c) { return c != '-' && c != '.'; };
  return is_edge(name.front()) && is_edge(name.back());
}

}  // namespace

base::Result<Place> parse_place(const std::string& text) {
  const auto bad = [&](std::string_view why) {
    return base::Status::invalid(
        fmt::format("{}: {}; write it like s3://bucket/folder", text, why));
  };
  if (!is_place(text)) return bad("not a place in an object store");
  std::string_view rest = std::string_view(text).substr(5);
  const std::size_t slash = rest.find('/');
  Place place;
  place.bucket = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  place.prefix = rest;
  if (!is_bucket(place.bucket)) {
    return bad("a bucket's name has 3 to 63 small letters, digits, '-' and '.'");
  }
  if (place.prefix.size() > kPrefixBytesMax) return bad("the folder's name is too long");
  if (place.prefix.starts_with('/') || place.prefix.find("//") != std::string::npos) {
    return bad("a folder without a name in it (two slashes)");
  }
  for (const char c : place.prefix) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) return bad("a control character in it");
  }
  return place;
}

}  // namespace headway::object_store
