// The libraries of C and C++ that compiled code asks for when it is loaded, as flags of a binding.
// A library that was linked on a newer system asks an older one for what that does not have: dlopen
// fails, and the job with it.
//
// Each version has a flag of its own and comes with those of all before it ("glibc2.28" up to the
// one that is here), so that the rule for a processor's instructions is right for them, too: an
// archive may be used where none of its flags is missing. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headway::cache {

// Torch needs these to be loaded at all: what is older is no question.
inline constexpr unsigned glibc_minor_min = 28;
inline constexpr unsigned libstdcxx_minor_min = 25;  // GLIBCXX_3.4.25, of GCC 8
inline constexpr unsigned runtime_minor_max = 99;    // beyond: not understood

// "2.36" → 36; "libstdc++.so.6.0.30" → 30, which has GLIBCXX_3.4.30. None: another thing.
[[nodiscard]] std::optional<unsigned> glibc_minor_of(std::string_view version);
[[nodiscard]] std::optional<unsigned> libstdcxx_minor_of(std::string_view file_name);

// Sorted as bindings want it. None of what is not known.
[[nodiscard]] std::vector<std::string> runtime_flags(std::optional<unsigned> glibc_minor,
                                                     std::optional<unsigned> libstdcxx_minor);
// Of the libraries that this process runs with: the system's, as a job's are but where its
// environment brings its own.
[[nodiscard]] std::vector<std::string> runtime_flags_here();

}  // namespace headway::cache
