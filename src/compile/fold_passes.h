// The times of a compilation: torch's metrics give cumulative ones, its events when compilers ran.
// Pure; one owner, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compile/compile_log.h"

namespace headway::compile {

// As torch counts: each holds those after it.
struct CumulativeTimes {
  std::int64_t total_us = 0, aot_us = 0, inductor_us = 0, codegen_us = 0, kernels_us = 0;
};

struct Span {
  std::int64_t begin_us = 0, end_us = 0;
};

// Begin and end events of compilers, paired by name. Several may run at once.
class CompilerSpans {
 public:
  static constexpr std::size_t kOpenMax = 4096;
  static constexpr std::size_t kSpansMax = 65'536;
  void begin(std::string_view name, std::int64_t at_us);
  void end(std::string_view name, std::int64_t at_us);
  // How much of a pass at least one of them ran.
  [[nodiscard]] std::int64_t covered_us(const Pass& pass) const;

 private:
  std::unordered_map<std::string, std::vector<std::int64_t>> open_;
  std::size_t open_count_ = 0;
  std::vector<Span> spans_;
};

// Without what is nested; the sum is the pass's duration. Times that contradict each other (a part
// longer than the whole) are cut to the whole.
[[nodiscard]] Stages stages_of(const CumulativeTimes& times, bool backward);

}  // namespace headway::compile
