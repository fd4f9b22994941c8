#include "cache/unite.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

namespace headway::cache {

Union unite(std::span<const Archive* const> archives) {
  Union all;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::uint32_t a = 0; a < archives.size(); ++a) {
    const Index& index = archives[a]->index();
    for (std::uint32_t e = 0; e < index.entries.size(); ++e) {
      const Entry& entry = index.entries[e];
      const auto [place, first] = places.try_emplace(entry.path, all.entries.size());
      if (first) {
        all.entries.push_back({a, e});
        continue;
      }
      Chosen& chosen = all.entries[place->second];
      const Index& theirs = archives[chosen.archive]->index();
      const Entry& other = theirs.entries[chosen.entry];
      const bool newer = entry.time_ns >= other.time_ns;
      if (theirs.contents[other.content].sha256 == index.contents[entry.content].sha256 &&
          other.relocated == entry.relocated) {
        ++all.same;
      } else {
        ++all.replaced;
        if (all.replaced_paths.size() < replaced_paths_max) {
          all.replaced_paths.push_back(entry.path);
        }
      }
      if (newer) chosen = {a, e};
    }
  }
  return all;
}

base::Status check_same_binding(std::span<const Archive* const> archives) {
  for (const Archive* archive : archives.subspan(archives.empty() ? 0 : 1)) {
    const std::string differs = difference(archives[0]->binding(), archive->binding());
    if (differs.empty()) continue;
    return base::Status::invalid(
        fmt::format("{} and {} are bound to different things ({}); merge "
                    "only what was packed alike",
                    archives[0]->path(), archive->path(), differs));
  }
  return {};
}

}  // namespace headway::cache
