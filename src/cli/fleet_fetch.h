// Journals that lie in an object store, for `headway fleet`: brought into a folder first, because
// the attribution reads files.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace headway::cli {

struct Fetched {
  std::uint64_t files = 0, bytes = 0;
};

// `place`: s3://bucket/prefix with <job>/<attempt>/*.hwj below it; the same lies below `folder`
// afterwards. What is there already is written over. With a progress bar.
[[nodiscard]] base::Result<Fetched> fetch_journals(const std::string& place,
                                                   const std::string& folder);

}  // namespace headway::cli
