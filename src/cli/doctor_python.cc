#include "cli/doctor_python.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/python_layout.h"
#include "cli/ask_python.h"

namespace headway::cli {
namespace {

// argv[1] is the folder that `headway run` would put on PYTHONPATH, or empty.
constexpr const char* kQuestion = R"(
import sys
if sys.argv[1]:
    sys.path.insert(0, sys.argv[1])
print(f"executable={sys.executable}")
print(f"major={sys.version_info[0]}")
print(f"minor={sys.version_info[1]}")
try:
    from importlib.metadata import version
    print(f"torch={version('torch')}")
except Exception:
    print("torch=")
try:
    import headway._core
    print("hook_error=")
except Exception as error:
    print("hook_error=" + f"{type(error).__name__}: {error}".splitlines()[0])
)";

}  // namespace

void read_python_answer(std::string_view answer, PythonFacts& facts) {
  while (!answer.empty()) {
    const std::string_view line = answer.substr(0, answer.find('\n'));
    answer.remove_prefix(std::min(line.size() + 1, answer.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string value(line.substr(equals + 1));
    if (key == "executable") facts.executable = value;
    if (key == "major") facts.major = std::atoi(value.c_str());
    if (key == "minor") facts.minor = std::atoi(value.c_str());
    if (key == "torch") facts.torch = value;
    if (key == "hook_error") facts.hook_error = value;
  }
  if (facts.executable.empty() && facts.error.empty()) facts.error = "gave no answer";
}

PythonFacts probe_python() {
  const agent::Environment environment = agent::read_environment(environ);
  const agent::Interpreter interpreter = agent::find_interpreter({}, environment);
  const std::vector<std::string> hook = agent::find_hook(agent::own_binary(), environment);
  PythonFacts facts;
  facts.command = interpreter.tried;
  if (interpreter.path.empty()) {
    facts.error = "not found";
    return facts;
  }
  std::string answer;
  facts.error = ask_python(interpreter.path, kQuestion, hook.empty() ? "" : hook.back(), answer);
  if (facts.error.empty()) read_python_answer(answer, facts);
  if (hook.empty()) facts.hook_error = "Headway's Python package is not beside the binary";
  return facts;
}

}  // namespace headway::cli
