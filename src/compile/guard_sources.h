// The tensors and numbers that a compiled function depends on, from the tree of its guards as torch
// prints it (dynamo_cpp_guards_str). Which of them changed says something else (DynamicChange);
// this is the list of all that a setting could touch. Pure; any thread.
//
//   | +- GuardManager: source=L['n'], accessed_by=…, type=<class 'int'>, tag_safe=(False, False)
//   | | +- EQUALS_MATCH: L['s'] == 1.5      # y = x * s  # train.py:5 in forward
//   +- LAMBDA_GUARD: L['s'] > 2.0  # y = x * s  # train.py:5 in forward
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace headway::compile {

// `number`: a whole number, else a tensor. Other things are not told.
using OnSource = std::function<void(std::string_view source, bool number)>;
void find_guard_sources(std::string_view guards, const OnSource& on_source);

// A digest of what is asked of numbers that are not whole, in whatever order; 0: nothing is.
[[nodiscard]] std::uint32_t float_guards(std::string_view guards);

}  // namespace headway::compile
