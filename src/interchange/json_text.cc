#include "interchange/json_text.h"

#include <cstdio>

namespace headway::interchange {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_tail(std::string_view text, std::size_t i) {
  return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
}

// Length of the UTF-8 sequence at `i`, 0 when there is none (RFC 3629: no surrogates, no overlong
// forms, nothing above U+10FFFF).
std::size_t sequence_at(std::string_view text, std::size_t i) {
  const auto c = static_cast<unsigned char>(text[i]);
  const auto second = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return is_tail(text, i + 1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F)) return 0;
    return is_tail(text, i + 1) && is_tail(text, i + 2) ? 3 : 0;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if ((c == 0xF0 && second < 0x90) || (c == 0xF4 && second > 0x8F)) return 0;
    return is_tail(text, i + 1) && is_tail(text, i + 2) && is_tail(text, i + 3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  char code[8];
  std::snprintf(code, sizeof(code), "\\u%04x",
                static_cast<unsigned>(static_cast<unsigned char>(c)));
  out += code;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\' || c < 0x20 || c == 0x7F) {
      append_escaped(out, text[i++]);
      continue;
    }
    const std::size_t n = sequence_at(text, i);
    if (n == 0) {
      out += kReplacement;
      ++i;
      continue;
    }
    out.append(text, i, n);
    i += n;
  }
  out += '"';
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = sequence_at(text, i);
    if (n == 0) {
      out += kReplacement;
    } else {
      out.append(text, i, n);
    }
    i += n == 0 ? 1 : n;
  }
  return out;
}

void append_csv_field(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace headway::interchange
