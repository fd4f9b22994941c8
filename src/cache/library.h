// Libraries that must be damaged: empty, begun with zeros, or shorter than their own headers say,
// as a power failure or a full disk leaves them. The process that loads one ends, and so would that
// of whoever gets it from a shelf. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "base/file_system.h"

namespace headway::cache {

[[nodiscard]] bool is_damaged_library(std::span<const std::byte> content);
// The same of an open file, of which little is read; false where it cannot be read.
[[nodiscard]] bool is_damaged_library(base::InputFile& file);

}  // namespace headway::cache
