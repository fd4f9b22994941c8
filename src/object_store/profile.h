// The files ~/.aws/credentials and ~/.aws/config: sections of "key = value" lines. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace headway::object_store {

inline constexpr std::size_t profile_file_bytes_max = 1 << 20;

using Profile = std::map<std::string, std::string>;

// The section's pairs; empty when there is none. In a config file, sections but "default" are
// called "profile NAME". Later lines win; what is indented belongs to the key before it and is
// passed over, as is what is no pair.
[[nodiscard]] Profile profile_of(std::string_view text, std::string_view name, bool config_file);
[[nodiscard]] bool has_profile(std::string_view text, std::string_view name, bool config_file);

}  // namespace headway::object_store
