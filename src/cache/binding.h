// What an archive is bound to: compiled code is of use only to the same torch in the same place of
// the same Python, and may kill a process on a processor that lacks an instruction. The JSON text
// of it stands in the archive, under its seal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"

namespace headway::cache {

inline constexpr std::size_t binding_text_bytes_max = 4096;  // of each of its texts
inline constexpr std::size_t cpu_flags_max = 256;
inline constexpr std::size_t commands_max = 8;

struct Binding {
  std::string torch;        // "2.13.0+cpu"
  std::string torch_git;    // the commit that it was built from
  std::string python;       // "cpython-311"
  std::string environment;  // the folder that torch lies in: it is in the keys of libraries
  std::string arch;         // "x86_64"
  std::vector<std::string> cpu_flags;  // sorted, each once
  std::string gpu;                     // free text; empty: none
  std::string family;                  // of jobs; what archives are shared by
  std::int64_t created_ns = 0;         // real time
  std::vector<std::string>
      commands{};  // torch's for a compiler, as far as they are known (rekey.h)
};

// Fit for a folder's name: 1 to 100 letters, digits, '-', '_' and '.', which is not the first.
[[nodiscard]] bool is_family(std::string_view name);

[[nodiscard]] std::string to_text(const Binding& binding);
// Errors name `path`. What is not known is passed over; what is missing or out of bounds is one.
base::Result<Binding> parse_binding(std::string_view text, const std::string& path);

// Of everything but the family, the time and commands: archives of the same can be united.
[[nodiscard]] base::Sha256 identity_of(const Binding& binding);
// Which of the two differ, in a person's words; "" where none does.
[[nodiscard]] std::string difference(const Binding& a, const Binding& b);

// May an archive of this binding be used here? A text of `here` that is empty is not compared, nor
// is the environment (rekey.h). An error says what does not fit and names `path`.
base::Status check_fits(const Binding& archive, const Binding& here, const std::string& path);

// What keeps an archive of this binding from being pulled here, in a person's words; "": nothing.
// Unlike check_fits() all is compared. The environment may be another one only with `elsewhere`.
[[nodiscard]] std::string misfit(const Binding& archive, const Binding& here, bool elsewhere);

}  // namespace headway::cache
