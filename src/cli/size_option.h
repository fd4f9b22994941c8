// Sizes as people write them on a command line. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace headway::cli {

// "500M", "1.5G", "2TiB", "1000": powers of 1024. An error names the option.
base::Result<std::uint64_t> parse_size_option(const std::string& option, const std::string& text);

}  // namespace headway::cli
