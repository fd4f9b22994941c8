// Takes secrets out of a line of output before it is shown or sent on: each becomes a mark that
// says what it was, "[redacted:password]". What is a secret says redact_rules.h. Redacting twice
// changes nothing more. Pure; a Redactor belongs to one thread and one stream of lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headway::failure {

// A longer line is cut, and says so by a mark: "[redacted:1234-bytes]".
inline constexpr std::size_t redacted_line_bytes_max = 8 * 1024;
// So many lines of a private key, at most, before it is taken to have no end.
inline constexpr int private_key_lines_max = 400;

class Redactor {
 public:
  // `text` is one line without its end. Lines come in order: a private key spans several.
  [[nodiscard]] std::string line(std::string_view text);

 private:
  bool continues_key(std::string_view word);

  int key_lines_left_ = 0;  // > 0: inside a private key
};

// One line by itself.
[[nodiscard]] std::string redact_line(std::string_view text);
// Any number of lines, such as an exception's message.
[[nodiscard]] std::string redact_text(std::string_view text);
// The value of a setting, which its name may make a secret: all of it then.
[[nodiscard]] std::string redact_setting(std::string_view name, std::string_view value);

}  // namespace headway::failure
