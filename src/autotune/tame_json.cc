#include "autotune/tame_json.h"

namespace headway::autotune {

std::string tame_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (quoted) {
      const std::size_t bytes = c == '\\' && i + 1 < text.size() ? 2 : 1;
      out.append(text, i, bytes);
      quoted = c != '"';
      i += bytes;
      continue;
    }
    std::size_t number = 0;
    for (const std::string_view name : {"NaN", "Infinity", "-Infinity"}) {
      if (text.substr(i, name.size()) == name) number = name.size();
    }
    if (number > 0) {
      out += "null";
      i += number;
      continue;
    }
    quoted = c == '"';
    out += c;
    ++i;
  }
  return out;
}

}  // namespace headway::autotune
