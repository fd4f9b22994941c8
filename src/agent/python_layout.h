// Where Python and Headway's Python package are: the interpreter of the ranks, and the folders that
// go in front of PYTHONPATH. Reads the file system, changes nothing.
#pragma once

#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/options.h"

namespace headway::agent {

// --python, else $VIRTUAL_ENV/bin/python, else python3 from PATH. Empty: none can be executed, and
// `tried` says what was looked for.
struct Interpreter {
  std::string path;
  std::string tried;
};
Interpreter find_interpreter(const RunOptions& options, const Environment& environment);

// {DIR/headway/_hook, DIR} of the first DIR that holds the hook: $HEADWAY_PYTHON_DIR, or the places
// where a build tree, a wheel and a system package put it relative to the binary. Empty: none does.
std::vector<std::string> find_hook(const std::string& binary, const Environment& environment);

// The running program's own path.
std::string own_binary();

}  // namespace headway::agent
