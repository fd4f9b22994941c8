// Torch's profile of sizes (PGO), as it prints it into a trace (artifacts put_local_code_state and
// get_local_code_state): for every function its sources, and which of their sizes were not always
// the same. Pure; any thread.
//
//   hash(4094f28d)/a/train.py:3:forward:
//     L['x']: tensor size=[?, 4] stride=[S(1), 1]
//     L['n']: fully dynamic scalar or tensor
//
// A list of sources as a suggestion may follow behind an empty line: it says no more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::compile {

enum class StateKind : std::uint8_t {
  tensor,
  number,   // that was always the same
  anything  // a number that changed, or a tensor whose number of dimensions did: torch cannot tell
};

struct StateSource {
  std::string function;  // "forward (train.py:3)"
  std::string source;    // "L['x']"
  StateKind kind = StateKind::tensor;
  std::vector<std::int32_t> dynamic_dims;  // of a tensor, ascending
};

inline constexpr std::size_t kStateSourcesMax = 20'000;
inline constexpr std::size_t kStateDimsMax = 64;  // of one tensor; torch's own limit is lower

struct CodeStates {
  std::vector<StateSource> sources;
  std::uint64_t bad_lines = 0;  // of no such form
  std::uint64_t left_out = 0;   // beyond the maxima
};

[[nodiscard]] CodeStates parse_code_state(std::string_view text);

}  // namespace headway::compile
