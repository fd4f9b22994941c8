// For tests: where a file of the source tree is. A function, so that no other object file depends
// on the name of the folder that the tree happens to lie in.
#pragma once

#include <string>

namespace headway::base {

// "tests/data/x" below the top of the tree.
[[nodiscard]] std::string source_path(const std::string& below);

}  // namespace headway::base
