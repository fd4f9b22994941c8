// The pins as a Python module: data, then the code that applies it, the same in every such file
// (python/headway/_pins.py). The same verdicts give the same bytes. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autotune/prune.h"

namespace headway::autotune {

inline constexpr int kPinsVersion = 1;

struct PinsCount {
  std::size_t kernels = 0, classes = 0;
};
// Of what would be pinned.
[[nodiscard]] PinsCount count_pins(const std::vector<KernelVerdict>& verdicts);

[[nodiscard]] std::string pins_module(const std::vector<KernelVerdict>& verdicts, double epsilon);

[[nodiscard]] std::string_view pins_runtime_text();

// A Python literal of any bytes; what is no UTF-8 becomes '?'.
[[nodiscard]] std::string python_literal(std::string_view text);

}  // namespace headway::autotune
