// Libraries for another path of the environment. torch names a library after the text of its C++
// and of the compiler's command line, in which the folder of torch's headers stands: where torch is
// installed elsewhere it looks for another name. With the command line known, and proven to give
// the name that the library has, the name that the same torch asks for elsewhere can be told. If it
// cannot be told, or is told wrong, the library is not found, and compiled: no other harm is done,
// since the same build of torch has the same headers wherever it lies.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cache/archive.h"
#include "cache/unpack.h"

namespace headway::cache {

// The key that torch gives C++ that this command compiles: "c" and 51 digits. Pure.
[[nodiscard]] std::string library_key(std::string_view code, std::string_view command);

// The key of the same code where the environment is `to`; none: no command gives `key`, or a path
// is one that a shell would need quotes for. Pure.
[[nodiscard]] std::optional<std::string> key_elsewhere(std::string_view code, std::string_view key,
                                                       std::span<const std::string> commands,
                                                       const std::string& from,
                                                       const std::string& to);

struct Rekeyed {
  std::size_t libraries = 0;  // got the name that is asked for here
  std::size_t missed = 0;     // of another environment, and nobody here will find them
  Renamed renamed{};          // all files that got another name
};
// Changes the paths of libraries, and of their C++, that come from archives of another environment
// than `environment`. A path that is a target already stays that one's.
base::Result<Rekeyed> rekey(std::span<const Archive* const> archives,
                            const std::string& environment, std::vector<Target>& targets);

}  // namespace headway::cache
