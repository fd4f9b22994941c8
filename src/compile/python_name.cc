#include "compile/python_name.h"

#include <algorithm>
#include <array>

namespace headway::compile {
namespace {

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
// Where a module keeps what it is also asked for as an attribute.
constexpr std::array<std::string_view, 3> kTables = {"_modules", "_parameters", "_buffers"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// What is not ASCII can only be here because Python took it for part of a name.
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, is_word) &&
         std::ranges::find(kKeywords, text) == kKeywords.end();
}

bool is_decimal_literal(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit) &&
         (text.size() == 1 || text.front() != '0');
}

std::string_view word_at(std::string_view text) {
  return text.substr(
      0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_word) - text.begin()));
}

// A text as repr() writes it, with its quotes.
std::string_view quoted_at(std::string_view text) {
  if (text.empty() || (text.front() != '\'' && text.front() != '"')) return {};
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == text.front()) {
      return text.substr(0, at + 1);
    }
  }
  return {};
}

// What stands between brackets, if it is a text, a whole number or a constant.
std::string_view subscript_at(std::string_view text) {
  const std::size_t close = text.find(']');
  std::string_view inner = quoted_at(text);
  if (inner.empty()) {
    if (close == std::string_view::npos) return {};
    inner = text.substr(0, close);
    const std::string_view digits = inner.starts_with('-') ? inner.substr(1) : inner;
    const bool constant = inner == "True" || inner == "False" || inner == "None";
    if (!constant && !is_decimal_literal(digits)) return {};
  }
  return text.substr(inner.size()).starts_with(']') ? inner : std::string_view();
}

// A module's child, which it can be asked for by its name: ".lin", of a list "[3]".
std::string child_of(std::string_view table, std::string_view key) {
  const std::string_view name = key.size() > 2 ? key.substr(1, key.size() - 2) : key;
  if (is_decimal_literal(name)) return std::string("[").append(name).append("]");
  if (is_identifier(name) && is_ascii(name)) return std::string(".").append(name);
  return std::string(".").append(table).append("[").append(key).append("]");
}

}  // namespace

std::string python_name(std::string_view source) {
  const bool one_line = std::ranges::none_of(
      source, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!one_line || !(source.starts_with("L['") || source.starts_with("G['"))) return {};
  const std::string_view variable = subscript_at(source.substr(2));
  if (variable.size() < 3) return {};
  std::string out(variable.substr(1, variable.size() - 2));
  if (!is_identifier(out) || out.starts_with("__")) return {};
  std::string_view table;  // whose key is still to come
  for (std::string_view rest = source.substr(3 + variable.size()); !rest.empty();) {
    const bool attribute = rest.front() == '.';
    if (!attribute && rest.front() != '[') return {};
    const std::string_view part =
        attribute ? word_at(rest.substr(1)) : subscript_at(rest.substr(1));
    if (part.empty() || (attribute && !is_identifier(part))) return {};
    rest.remove_prefix(part.size() + (attribute ? 1 : 2));
    if (attribute) {
      const bool is_table = std::ranges::find(kTables, part) != kTables.end();
      if (!table.empty()) out.append(".").append(table);
      table = is_table ? part : std::string_view();
      if (!is_table) out.append(".").append(part);
    } else if (!table.empty() && part.front() == '\'') {
      out += child_of(table, part);
      table = {};
    } else {
      if (!table.empty()) out.append(".").append(table);
      table = {};
      out.append("[").append(part).append("]");
    }
  }
  if (!table.empty()) out.append(".").append(table);
  return out;
}

}  // namespace headway::compile
