#include "cli/cache_python.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "agent/environment.h"
#include "agent/python_layout.h"
#include "cli/ask_python.h"

namespace headway::cli {
namespace {

using base::Status;

// torch/version.py imports nothing of torch; a torch.py in the current folder is none.
constexpr const char* kQuestion = R"(
import importlib.util, os, sys
sys.path = [folder for folder in sys.path if folder]
print(f"python={sys.implementation.cache_tag}")
spec = importlib.util.find_spec("torch")
if spec is not None and spec.submodule_search_locations:
    folder = os.path.abspath(list(spec.submodule_search_locations)[0])
    names = {}
    with open(os.path.join(folder, "version.py")) as file:
        exec(compile(file.read(), "version.py", "exec"), names)
    print(f"torch={names['__version__']}")
    print(f"torch_git={names.get('git_version') or ''}")
    print(f"environment={os.path.dirname(folder)}")
)";

}  // namespace

base::Result<TorchFacts> ask_for_torch(const std::string& python) {
  const agent::Environment environment = agent::read_environment(environ);
  agent::RunOptions options;
  options.python = python;
  const agent::Interpreter interpreter = agent::find_interpreter(options, environment);
  if (interpreter.path.empty()) {
    return Status::not_found(
        fmt::format("{}: no such Python; name one with --python", interpreter.tried));
  }
  std::string answer;
  const std::string error = ask_python(interpreter.path, kQuestion, "", answer);
  TorchFacts facts;
  std::string_view rest = answer;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view name = line.substr(0, line.find('='));
    if (name.size() == line.size()) continue;
    const std::string value(line.substr(name.size() + 1));
    if (name == "torch") facts.torch = value;
    if (name == "torch_git") facts.torch_git = value;
    if (name == "python") facts.python = value;
    if (name == "environment") facts.environment = value;
  }
  if (error.empty() && !facts.torch.empty()) return facts;
  return Status::not_found(fmt::format("{}: {}; name the Python of the job with --python",
                                       interpreter.path,
                                       error.empty() ? "it has no torch" : error));
}

}  // namespace headway::cli
