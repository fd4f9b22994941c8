// How two archives differ, by what their entries say. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "cache/index.h"

namespace headway::cache {

struct ArchiveDifference {
  std::vector<const Entry*> only_a, only_b;                   // by path
  std::vector<std::pair<const Entry*, const Entry*>> others;  // one path, two contents
  std::size_t same = 0;
};
// Pointers into the two, which outlive it.
[[nodiscard]] ArchiveDifference difference(const Index& a, const Index& b);

// How many entries of a kind, and their bytes.
struct KindSum {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
};
using KindSums = std::array<KindSum, all_kinds.size()>;  // in the order of all_kinds
[[nodiscard]] KindSums sums_of(const Index& index);

}  // namespace headway::cache
