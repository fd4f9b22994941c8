// Text into JSON and CSV, whatever bytes it holds: names in journals are the user's. Pure.
#pragma once

#include <string>
#include <string_view>

namespace headway::interchange {

// Appends "text" in quotes. Bytes that are not UTF-8 become U+FFFD, so the result is always JSON.
void append_json_string(std::string& out, std::string_view text);

// The text with U+FFFD in place of every byte that is not UTF-8: for formats that refuse such.
[[nodiscard]] std::string valid_utf8(std::string_view text);

// Appends one field of RFC 4180, in quotes only where it needs them.
void append_csv_field(std::string& out, std::string_view text);

}  // namespace headway::interchange
