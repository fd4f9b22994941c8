// For tests: the labelled corpus (tests/failure/README.md has its format).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "failure/evidence.h"

namespace headway::failure {

struct Labelled {
  std::filesystem::path path;
  std::map<std::string, std::string> expected;
  Evidence evidence;
};

// All cases below `folder`, by path. Breaks off the test at a case that is not in the format.
[[nodiscard]] std::vector<Labelled> read_corpus(const std::filesystem::path& folder);

}  // namespace headway::failure
