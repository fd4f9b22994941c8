// Why a folder cannot be written, and what to do about it. It looks at the folder as it is now; any
// thread.
#pragma once

#include <string>

#include "base/status.h"

namespace headway::checkpoint {

// "; /data belongs to root …, or name another folder": to be put behind an error of writing there.
// "": the folder, or the nearest above it that is there, can be written as far as one sees.
[[nodiscard]] std::string unwritable_advice(const std::string& folder);
// The same error with that advice.
[[nodiscard]] base::Status with_unwritable_advice(const base::Status& status,
                                                  const std::string& folder);

}  // namespace headway::checkpoint
