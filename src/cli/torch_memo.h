// Which torch a Python has, remembered: asking costs an interpreter's start, which takes long where
// its files are far away. An answer counts as long as the interpreter, what it was asked with, the
// folder that torch is installed in and torch's own version file are what they were. That is not
// all that could matter: before anything is given away under such an answer, the Python is asked
// after all. One thread.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/cache_python.h"

namespace headway::cli {

struct RememberedTorch {
  TorchFacts facts;
  bool asked = false;  // just now
};
// As ask_for_torch(); `memory`: a folder for the answers, made where it is not there; "": none.
// `ask`: whatever is remembered.
base::Result<RememberedTorch> remembered_torch(const std::string& python, const std::string& memory,
                                               bool ask = false);

}  // namespace headway::cli
