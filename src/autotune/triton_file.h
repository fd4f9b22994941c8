// What Triton leaves beside its compiled kernels: <fn>.autotune.json with the times of all
// configurations (TRITON_CACHE_AUTOTUNING=1), and <fn>.json, which says for what hardware a kernel
// was compiled. Pure; any thread.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "autotune/observation.h"
#include "base/status.h"

namespace headway::autotune {

inline constexpr std::string_view kTritonSuffix = ".autotune.json";
inline constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;

struct TritonTuning {
  Observation observation;   // without hardware: the file does not know it
  std::size_t left_out = 0;  // configurations beyond kConfigsMax, twice there, or not to be written
};

// `file_name` without its folder: the kernel's name is in it and nowhere else. An error says what
// is wrong, without the path.
base::Result<TritonTuning> parse_triton_tuning(std::string_view file_name, std::string_view json);

// What <fn>.json says of a compiled kernel; empty texts where it is something else.
struct TritonTarget {
  std::string hardware;  // "cuda:80", "hip:gfx942"
  std::string software;  // "triton 3.9.0"
  auto operator<=>(const TritonTarget&) const = default;
};
[[nodiscard]] TritonTarget target_of(std::string_view json);

}  // namespace headway::autotune
