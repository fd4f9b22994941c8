#include "compile/graph_digest.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/hash.h"

namespace headway::compile {
namespace {

// What a device's number stands behind: f32[8]"cuda:0", device(type='cuda', index=0).
constexpr std::array<std::string_view, 3> kBeforeNumber = {"cuda:", "xpu:", "', index="};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string graph_digest(std::string_view payload) {
  base::HashStream stream(base::HashKind::md5);
  const auto add = [&stream](std::string_view text) {
    stream.add(std::as_bytes(std::span(text.data(), text.size())));
  };
  std::size_t begin = 0;  // of what is not yet added
  for (std::size_t at = payload.find_first_of(":="); at != std::string_view::npos;
       at = payload.find_first_of(":=", at)) {
    const std::string_view before = payload.substr(0, ++at);
    if (std::ranges::none_of(kBeforeNumber, [&](auto each) { return before.ends_with(each); })) {
      continue;
    }
    add(before.substr(begin));
    while (at < payload.size() && is_digit(payload[at])) ++at;
    begin = at;
  }
  add(payload.substr(begin));
  std::array<std::uint8_t, 16> digest{};
  stream.finish(digest);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace headway::compile
