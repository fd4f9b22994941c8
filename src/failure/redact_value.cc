#include "failure/redact_value.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "failure/rules.h"

namespace headway::failure {
namespace {

bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

// `open` is where the quote stands; `escaped` if a backslash stands before it.
Value quoted_value(std::string_view text, std::size_t open, bool escaped) {
  const char quote = text[open];
  std::size_t end = open + 1;
  while (end < text.size() && text[end] != quote) {
    const bool pair = !escaped && text[end] == '\\' && end + 1 < text.size();
    end += pair ? 2 : 1;
  }
  end = std::min(end, text.size());
  if (escaped && end < text.size() && end > open + 1 && text[end - 1] == '\\') --end;
  return {open + 1, end, true};
}

// A comma belongs to a password, unless the next field begins behind it.
bool next_field_follows(std::string_view rest) {
  static const re2::RE2 kField(R"(\s|$|["'\w.-]+["']?\s*[:=])", pattern_options());
  return kField.Match(piece(rest), 0, rest.size(), re2::RE2::ANCHOR_START, nullptr, 0);
}

Value bare_value(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (is_space(c) || is_quote(c) || c == '&' || c == ';' || c == '\\') break;
    if (c == ',' && next_field_follows(text.substr(end + 1))) break;
  }
  while (end > begin && std::string_view(",)]}").find(text[end - 1]) != std::string_view::npos) {
    --end;
  }
  return {begin, end, false};
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

Value value_at(std::string_view text, std::size_t at) {
  std::size_t open = at;
  const auto quote_behind = [&](std::size_t i) { return i < text.size() && is_quote(text[i]); };
  if (open < text.size() &&
      std::string_view("rbufRBUF").find(text[open]) != std::string_view::npos &&
      quote_behind(open + 1)) {
    ++open;  // Python's b'…'
  }
  const std::size_t slashes = open;
  while (open < text.size() && text[open] == '\\') ++open;
  if (quote_behind(open)) return quoted_value(text, open, open > slashes);
  return bare_value(text, at);
}

bool is_placeholder(std::string_view value, std::string_view key, bool quoted) {
  static const re2::RE2 kNothing(
      R"((?i)none|null|nil|true|false|yes|no|empty|unset|set|not|required|missing|optional|\*+)"
      R"(|x{3,}|\.{3}|[-=_.:]+)",
      pattern_options());
  static const re2::RE2 kReference(
      R"(\$\w+|\$\{[^}]*\}?|\$\([^)]*\)?|%\w+%|%\(\w+\)s|%s|\{\w*\}?|\{\{.*|<[^>]*>?)",
      pattern_options());
  // In a traceback's line of code: token=self.token, password: Optional[str], key=os.environ[…].
  static const re2::RE2 kCode(
      R"((?:self|os|args?|cfg|config|conf|opts?|kwargs|settings|params|typing|t)\.\w.*)"
      R"(|getpass.*|(?:Optional|Union|List|Dict|SecretStr|Callable|Annotated)(?:\[.*)?|str)"
      R"(|bytes|int|bool|dict|object|Any|[A-Za-z_][\w.]*\(.*|[A-Za-z_]\w*\[.*|:.*)",
      pattern_options());
  if (value.empty() || equal_ignoring_case(value, key)) return true;
  // "token" behind "hf_token=" is the variable's own name.
  if (!quoted && key.size() > value.size() &&
      equal_ignoring_case(key.substr(key.size() - value.size()), value)) {
    return true;
  }
  return re2::RE2::FullMatch(piece(value), kNothing) ||
         re2::RE2::FullMatch(piece(value), kReference) ||
         (!quoted && re2::RE2::FullMatch(piece(value), kCode));
}

bool is_number(std::string_view value) {
  static const re2::RE2 kNumber(
      R"([-+~<>]*[0-9][0-9.,:/_]*(?:[eE][-+]?[0-9]+)?[A-Za-z%/]{0,12}|0x[0-9a-fA-F]+)",
      pattern_options());
  return re2::RE2::FullMatch(piece(value), kNumber);
}

bool looks_random(std::string_view value) {
  constexpr std::size_t random_bytes_min = 8, mixed_case_bytes_min = 20;
  static const re2::RE2 kAlphabet(R"([A-Za-z0-9._~+/=%-]+)", pattern_options());
  if (value.size() < random_bytes_min || is_number(value)) return false;
  if (!re2::RE2::FullMatch(piece(value), kAlphabet)) return false;
  const auto has = [&](int (*is)(int)) {
    return std::any_of(value.begin(), value.end(),
                       [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
  };
  if (has(std::isdigit) && has(std::isalpha)) return true;
  return value.size() >= mixed_case_bytes_min && has(std::isupper) && has(std::islower);
}

}  // namespace headway::failure
