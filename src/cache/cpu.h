// The machine's part of a binding: which instructions code that was compiled with -march=native may
// use, and which libraries of C and C++ it may ask for. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cache/binding.h"

namespace headway::cache {

// Of the text of /proc/cpuinfo, sorted: what every one of its processors has and a compiler may
// use. Pure.
[[nodiscard]] std::vector<std::string> cpu_flags_of(std::string_view cpuinfo);

// Fills in arch and cpu_flags, those of runtime.h among them.
base::Status add_this_cpu(Binding& binding);

}  // namespace headway::cache
