// Why a compilation that was there could not be used, as torch says it. Pure; any thread.
//
//   0/0: tensor 'x' size mismatch at index 0. expected 8, actual 9
//   0/0: n == 11        # y = x * n  # train.py:5 in forward
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/trace_line.h"

namespace headway::compile {

enum class ReasonKind : std::uint8_t {
  size,         // of a dimension that the code was compiled for
  number,       // that the code was compiled for
  specialised,  // a dimension that was dynamic, and the code holds for one size all the same
  other
};

struct RecompileReason {
  CompileId entry;  // the compilation that could not be used
  ReasonKind kind = ReasonKind::other;
  std::string name;  // as torch shortens it: x for L['x']
  std::int32_t dim = -1;
  std::int64_t expected = 0;
  std::optional<std::int64_t> actual;
  std::string text;  // the guard, without what follows it
};

// None: no reason begins here (torch adds lines of the user's stack).
[[nodiscard]] std::optional<RecompileReason> parse_recompile_reason(std::string_view text);

// The reasons that torch wrote one below the other, each with the lines of the user's stack that
// torch puts below it.
[[nodiscard]] std::vector<std::string_view> split_recompile_reasons(std::string_view text);

// As torch's messages have it: L['d']['k'] → d['k'].
[[nodiscard]] std::string short_source(std::string_view source);

}  // namespace headway::compile
