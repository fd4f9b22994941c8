// A page of text for a terminal: lines of inked spans, measured in columns, never wider than the
// style allows. Text that came from outside (names, reasons) must go through clean(), so that no
// journal can send escape codes to somebody's terminal. One owner, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/style.h"

namespace headway::cli {

// Columns that UTF-8 text takes. Invalid bytes count one each.
[[nodiscard]] int columns_of(std::string_view text);
// The longest prefix of at most `columns`.
[[nodiscard]] std::string_view prefix_of(std::string_view text, int columns);
// One line without control characters; what is no UTF-8, or not ASCII where only that can be shown,
// becomes '?'.
[[nodiscard]] std::string clean(std::string_view text, const Style& style);
// Broken at spaces into lines of at most `columns`. A word that is longer has a line of its own.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, int columns);

class Line {
 public:
  Line& add(std::string_view text, Ink ink = Ink::plain);
  // Spaces up to a column; at least one when something stands there already.
  Line& to(int column);
  // Right-aligned, ending before `column`.
  Line& right(std::string_view text, int column, Ink ink = Ink::plain);
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] std::string render(const Style& style) const;
  // The line broken at spaces into lines of at most `columns`, all but the first `indent` in.
  [[nodiscard]] std::vector<Line> broken(int columns, int indent) const;

 private:
  struct Span {
    std::string text;
    Ink ink;
  };
  void trim();  // of spaces at the end
  std::vector<Span> spans_;
  int columns_ = 0;
};

class Page {
 public:
  explicit Page(const Style& style) : style_(style) {}
  [[nodiscard]] const Style& style() const { return style_; }
  void add(const Line& line) { text_ += line.render(style_) + "\n"; }
  void add(std::string_view text, Ink ink = Ink::plain) { add(Line().add(text, ink)); }
  void add_broken(const Line& line, int indent);
  // A line with something to copy, a path or a command, is never cut: the terminal wraps it.
  void add_whole(const Line& line);
  void blank() { text_ += "\n"; }
  // A paragraph, each line `indent` columns in.
  void paragraph(std::string_view text, int indent, Ink ink = Ink::plain);
  [[nodiscard]] const std::string& text() const { return text_; }

  // Characters of our own that ASCII lacks.
  [[nodiscard]] std::string_view dash() const { return style_.unicode ? "–" : "-"; }
  [[nodiscard]] std::string_view dot() const { return style_.unicode ? "·" : "-"; }
  [[nodiscard]] std::string_view arrow() const { return style_.unicode ? "→" : "->"; }

 private:
  Style style_;
  std::string text_;
};

// A bar of at most `cells` columns for `part` of `whole`, to an eighth of a column where blocks can
// be shown. A part that is not nothing shows something.
[[nodiscard]] std::string bar(std::int64_t part, std::int64_t whole, int cells, const Style& style);

}  // namespace headway::cli
