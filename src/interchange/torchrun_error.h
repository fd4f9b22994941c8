// The error file that a rank under torchrun leaves behind:
//   {"message":{"message":"RuntimeError:
//   ...","extraInfo":{"py_callstack":"...","timestamp":"170..."}}}
// where "message" may also be a plain string. One file is one failure. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::interchange {

inline constexpr std::size_t kErrorFileBytesMax = 16 << 20;
inline constexpr std::size_t kErrorReasonBytesMax = 4096;  // longer ones lose their middle

struct TorchrunError {
  std::string reason;  // the exception's own line
  std::optional<std::int64_t> t_ns;
  int exit_code = 1;
};

base::Result<TorchrunError> parse_torchrun_error(std::string_view text);

// torchrun keeps it at .../attempt_<restart>/<local rank>/error.json.
struct ErrorPlace {
  std::optional<std::int64_t> restart;
  std::optional<std::uint32_t> rank;
};
ErrorPlace place_of_error_file(std::string_view path);

}  // namespace headway::interchange
