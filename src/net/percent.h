// Percent-encoding of paths and queries. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headway::net {

// Every byte but letters, digits, '-', '.', '_' and '~' as %XX; '/' too unless it is kept.
[[nodiscard]] std::string percent_encoded(std::string_view text, bool keep_slash);
[[nodiscard]] std::string percent_decoded(std::string_view text, bool plus_is_space);

// "/a%20b?x=1&y" → "/a b" and {x: 1, y: ""}. False: it does not begin with '/', or a byte of it is
// a control character or none of ASCII, before or after decoding.
bool split_target(std::string_view target, std::string& path,
                  std::vector<std::pair<std::string, std::string>>& query);

}  // namespace headway::net
