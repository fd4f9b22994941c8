// Inductor's <hash>.best_config: which configuration of one generated kernel won, and what finding
// it cost. The others and their times are not in it, so nothing can be pruned from it: inductor
// reads it again by itself where its cache directory is kept (docs/cache.md). Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::autotune {

inline constexpr std::string_view kBestConfigSuffix = ".best_config";
inline constexpr std::size_t kBestConfigBytesMax = std::size_t{1} << 20;

struct BestConfig {
  std::int64_t tuning_ns = 0;
  bool by_coordinate_descent = false;
};

base::Result<BestConfig> parse_best_config(std::string_view json);

}  // namespace headway::autotune
