// Names of what a compiled function takes (L['x'], L['args'][0]) as entries of torch's setting
// TORCH_COMPILE_DYNAMIC_SOURCES: a list with commas between, from which torch takes all spaces; an
// entry is a name or a regular expression that has to match from the name's beginning, and may end
// in :DIMENSION. Pure; any thread.
//
// Torch tries each entry as an expression too, whatever it was meant to be, so one that is none
// (L['d']['max-len'] has a range x-l) fails every compilation, and a name with a comma becomes two
// such. Here a name is written as it is only where nothing in it can be taken for an expression;
// all others are written as expressions that match them alone, commas and spaces as \x2c and \x20.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headway::compile {

struct SourceDim {
  std::string source;
  std::int32_t dim = -1;  // -1: a number, which has none
  auto operator<=>(const SourceDim&) const = default;
};

// Of one dimension: "L['x']:0"; a number: "L['n']".
[[nodiscard]] std::string text_of(const SourceDim& at);

struct KnownSource {
  std::string source;
  bool number = false;  // else a tensor
  auto operator<=>(const KnownSource&) const = default;
};

struct SourceEntry {
  std::string text;
  std::vector<SourceDim> covers;
};

inline constexpr std::size_t kMergeMin = 3;  // fewer are clearer one by one

// Entries that match all of `wanted` and, of what is known, nothing else. Names that differ only in
// numbers, or in keys behind the first, become one expression; with `join` false none do.
[[nodiscard]] std::vector<SourceEntry> merge_sources(const std::set<SourceDim>& wanted,
                                                     const std::set<KnownSource>& known,
                                                     bool join = true);

// Is it the same in the next process? Torch gives some objects names with their address in it.
[[nodiscard]] bool is_lasting_name(std::string_view source);

}  // namespace headway::compile
