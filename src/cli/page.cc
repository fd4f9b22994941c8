#include "cli/page.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/wide.h"

namespace headway::cli {
namespace {

constexpr std::uint32_t kInvalid = 0xFFFFFFFF;

struct Point {
  std::uint32_t code = kInvalid;
  std::size_t bytes = 1;
};

// The code point at the beginning of `text`; overlong forms and surrogates are invalid.
Point decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, bytes};
}

struct Range {
  std::uint32_t first, last;
};
constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                           {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr Range kNarrow[] = {{0x300, 0x36F}, {0x200B, 0x200D}, {0xFE00, 0xFE0F}};
// Beyond C0 and C1: marks that reorder or break lines.
constexpr Range kUnsafe[] = {
    {0x80, 0x9F}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};

template <std::size_t n>
bool in(std::uint32_t code, const Range (&ranges)[n]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return code >= r.first && code <= r.last; });
}

int columns_of_point(const Point& point) {
  if (point.code == kInvalid || point.code < 0x300) return 1;
  return in(point.code, kNarrow) ? 0 : in(point.code, kWide) ? 2 : 1;
}

}  // namespace

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Point point = decode(text);
    columns += columns_of_point(point);
    text.remove_prefix(point.bytes);
  }
  return columns;
}

std::string_view prefix_of(std::string_view text, int columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Point point = decode(text.substr(bytes));
    columns -= columns_of_point(point);
    if (columns < 0) break;
    bytes += point.bytes;
  }
  return text.substr(0, bytes);
}

std::string clean(std::string_view text, const Style& style) {
  std::string out;
  while (!text.empty()) {
    const Point point = decode(text);
    const bool space = point.code == '\n' || point.code == '\t' || point.code == '\r';
    const bool bad = point.code == kInvalid || point.code < 0x20 || point.code == 0x7F ||
                     in(point.code, kUnsafe) || (point.code >= 0x80 && !style.unicode);
    if (space) {
      out += ' ';
    } else if (bad) {
      out += '?';
    } else {
      out += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return out;
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) > columns) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

Line& Line::add(std::string_view text, Ink ink) {
  if (text.empty()) return *this;
  spans_.push_back({std::string(text), ink});
  columns_ += columns_of(text);
  return *this;
}

Line& Line::to(int column) {
  const int least = columns_ == 0 ? 0 : 1;
  return add(std::string(static_cast<std::size_t>(std::max(least, column - columns_)), ' '));
}

Line& Line::right(std::string_view text, int column, Ink ink) {
  return to(column - columns_of(text)).add(text, ink);
}

std::string Line::render(const Style& style) const {
  std::string out;
  const bool cut = columns_ > style.width;
  const std::string_view tail = style.unicode ? "…" : "~";
  int left = cut ? style.width - 1 : columns_;
  // Spaces at the end would only show in somebody's diff.
  std::size_t last = spans_.size();
  while (!cut && last > 0 && spans_[last - 1].text.find_first_not_of(' ') == std::string::npos) {
    --last;
  }
  for (std::size_t i = 0; i < last && left > 0; ++i) {
    const std::string_view text = prefix_of(spans_[i].text, left);
    left -= columns_of(text);
    const std::string_view code = style.color ? ink_code(spans_[i].ink) : "";
    out += code;
    out += text;
    if (!code.empty()) out += kInkOff;
    if (text.size() < spans_[i].text.size()) break;
  }
  if (cut) out += tail;
  return out;
}

void Line::trim() {
  while (!spans_.empty()) {
    std::string& text = spans_.back().text;
    const std::size_t end = text.find_last_not_of(' ') + 1;
    columns_ -= static_cast<int>(text.size() - end);
    text.resize(end);
    if (end > 0) return;
    spans_.pop_back();
  }
}

std::vector<Line> Line::broken(int columns, int indent) const {
  if (columns_ <= columns) return {*this};
  std::vector<Line> lines(1);
  bool at_start = true;  // nothing but the indent so far
  for (const Span& span : spans_) {
    for (std::string_view rest = span.text; !rest.empty();) {
      // A word and the spaces behind it.
      const std::size_t space = std::min(rest.find(' '), rest.size());
      const std::size_t next = std::min(rest.find_first_not_of(' ', space), rest.size());
      const std::string_view word = rest.substr(0, space);
      if (!at_start && lines.back().columns() + columns_of(word) > columns) {
        lines.back().trim();
        lines.emplace_back().to(indent);
      }
      lines.back().add(rest.substr(0, next), span.ink);
      at_start = lines.size() == 1 && lines.back().columns() <= indent;
      rest.remove_prefix(next);
    }
  }
  return lines;
}

void Page::add_broken(const Line& line, int indent) {
  for (const Line& part : line.broken(style_.width, indent)) add(part);
}

void Page::add_whole(const Line& line) {
  Style wide = style_;
  wide.width = std::max(style_.width, line.columns());
  text_ += line.render(wide) + "\n";
}

void Page::paragraph(std::string_view text, int indent, Ink ink) {
  HW_CHECK(indent < style_.width);
  for (const std::string& line : wrap(text, style_.width - indent)) {
    add(Line().to(indent).add(line, ink));
  }
}

std::string bar(std::int64_t part, std::int64_t whole, int cells, const Style& style) {
  if (part <= 0 || whole <= 0 || cells <= 0) return "";
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const std::int64_t scale = style.unicode ? 8 : 1;
  const auto units = static_cast<std::int64_t>(
      (base::Int128{std::min(part, whole)} * cells * scale + whole / 2) / whole);
  std::string out;
  for (std::int64_t i = 0; i < units / scale; ++i) out += style.unicode ? "█" : "#";
  out += kEighths[static_cast<std::size_t>(units % scale)];
  if (out.empty()) out = style.unicode ? "▏" : ".";
  return out;
}

}  // namespace headway::cli
