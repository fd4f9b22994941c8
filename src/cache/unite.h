// The entries of several archives as one set: what merge writes and unpack unpacks. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cache/archive.h"

namespace headway::cache {

inline constexpr std::size_t archives_max = 100'000;  // at once

struct Chosen {
  std::uint32_t archive = 0;
  std::uint32_t entry = 0;  // of that archive
};

struct Union {
  std::vector<Chosen> entries;  // each path once, in the order of their first appearance
  std::size_t same = 0;         // were there already, with the same content
  std::size_t replaced = 0;     // had another content that is older
  std::vector<std::string> replaced_paths;  // some of them
};
inline constexpr std::size_t replaced_paths_max = 100;

// Where a path has several contents the newest is taken, of equally old ones that of the archive
// that comes last: the order of archives of different times does not matter.
[[nodiscard]] Union unite(std::span<const Archive* const> archives);

// All of the same binding? An error names the two that are not, and what differs.
base::Status check_same_binding(std::span<const Archive* const> archives);

}  // namespace headway::cache
