// A question to a compile cache, as the artifacts {fx_graph,aotautograd}_cache_{hit,miss,bypass}
// tell it; and what a cache would not take: precompile_cache_bypass, and
// aotautograd_cache_pickle_failure, which follows a miss. Pure; one thread.
#pragma once

#include <optional>
#include <string_view>

#include "compile/compile_log.h"
#include "compile/components.h"

namespace headway::compile {

struct AskName {
  CacheKind kind;
  CacheOutcome outcome;
};
// None: an artifact of another kind.
[[nodiscard]] std::optional<AskName> ask_name(std::string_view artifact);

// "…" for what differs from run to run, so that like reasons count as one.
[[nodiscard]] std::string bypass_reason(std::string_view text);

}  // namespace headway::compile
