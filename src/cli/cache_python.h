// Which torch a Python has, without importing it: that would take seconds. One thread.
#pragma once

#include <string>

#include "base/status.h"

namespace headway::cli {

struct TorchFacts {
  std::string torch, torch_git;
  std::string python;       // "cpython-311"
  std::string environment;  // the folder that torch's is in
};
// `python`: empty: the one that `headway run` takes.
base::Result<TorchFacts> ask_for_torch(const std::string& python);

}  // namespace headway::cli
