#include "base/cut_text.h"

#include <algorithm>

namespace headway::base {
namespace {

constexpr std::string_view kGap = " … ";
constexpr std::size_t kWordMax = 24;  // how much is given up for a whole word

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

}  // namespace

std::string cut_in_the_middle(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  if (bytes_max <= kGap.size() + 2) {
    while (bytes_max > 0 && inside_character(text, bytes_max)) --bytes_max;
    return std::string(text.substr(0, bytes_max));
  }
  const std::size_t room = bytes_max - kGap.size();
  std::size_t head = room * 2 / 5;
  std::size_t tail = text.size() - (room - head);
  while (head > 0 && inside_character(text, head)) --head;
  while (inside_character(text, tail)) ++tail;
  const std::size_t space = text.rfind(' ', head);
  if (space != std::string_view::npos && space > 0 && head - space <= kWordMax) head = space;
  const std::size_t next = text.find(' ', tail);
  if (next != std::string_view::npos && next - tail <= kWordMax) tail = next + 1;
  return std::string(text.substr(0, head)).append(kGap).append(text.substr(tail));
}

std::string_view cut_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t bytes = bytes_max;
  while (bytes > 0 && inside_character(text, bytes)) --bytes;
  return text.substr(0, bytes);
}

}  // namespace headway::base
