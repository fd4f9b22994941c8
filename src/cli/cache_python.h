// Which torch a Python has, without importing it: that would take seconds. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cache/torch_facts.h"

namespace headway::cli {

using cache::TorchFacts;
// `python`: empty: the one that `headway run` takes.
base::Result<TorchFacts> ask_for_torch(const std::string& python);

// The command lines that this Python's torch makes keys of libraries of (cache/rekey.h). It imports
// the compiler for it: some seconds. `directory`: the cache directory, where it finds what it knows
// of the processor.
base::Result<std::vector<std::string>> ask_for_commands(const std::string& python,
                                                        const std::string& directory);

}  // namespace headway::cli
