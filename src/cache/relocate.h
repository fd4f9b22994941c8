// Triton notes the absolute paths of a kernel's files in `__grp__*.json` beside them: in another
// directory it would look for them in the old one. In an archive such a file has a word in place of
// its own folder, as in torch's own bundles. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headway::cache {

inline constexpr std::string_view relocation_word = "[REPLACE]";

// The content with the word in place of its folder, wherever that was; none: it needs none, or
// cannot have it. `path`: in the cache directory.
[[nodiscard]] std::optional<std::string> without_place(std::string_view path,
                                                       std::string_view content);
// `text` with each `what` replaced. Pure.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view what,
                                   std::string_view by);
// The other way round. `folder`: the absolute path of the folder that the file will lie in.
[[nodiscard]] std::string with_place(std::string_view folder, std::string_view content);

}  // namespace headway::cache
