// Asks the Python that `headway run` would start what it is, which torch it has, and whether the
// recorder's binding loads in it. One thread; waits for the answer as ask_python.h does.
#pragma once

#include <string_view>

#include "cli/doctor_checks.h"

namespace headway::cli {

PythonFacts probe_python();

// Fills `facts` from the answer, lines of "key=value". Separate for its test.
void read_python_answer(std::string_view answer, PythonFacts& facts);

}  // namespace headway::cli
