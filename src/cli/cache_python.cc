#include "cli/cache_python.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "agent/environment.h"
#include "agent/python_layout.h"
#include "cache/binding.h"
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

// As CppCodeCache.load_async() makes it of what it compiles: with a precompiled header and without,
// with the processor's instructions and for code that has no use for them.
constexpr const char* kCommands = R"(
import os, sys
sys.path = [folder for folder in sys.path if folder]
os.environ["TORCHINDUCTOR_CACHE_DIR"] = sys.argv[1]
from torch._inductor import codecache, config, cpp_builder, cpu_vec_isa
known = set()
for headers in (True, False):
    config.cpp_cache_precompile_headers = headers
    for isa in (cpu_vec_isa.pick_vec_isa(), cpu_vec_isa.invalid_vec_isa):
        for cache in (codecache.CppPythonBindingsCodeCache, codecache.CppWrapperCodeCache):
            options = cpp_builder.CppTorchDeviceOptions(
                compile_only=False, min_optimize=False, vec_isa=isa, device_type="cpu",
                extra_flags=(), use_relative_path=config.is_fbcode(),
                **cache.cpp_compile_command_flags)
            command = cpp_builder.CppBuilder(name="o", sources="i", BuildOption=options)
            known.add(command.get_command_line())
for command in sorted(known):
    print(f"command={command}")
)";

// At low priority on a busy machine; the end of a job waits for it no longer than for a push.
constexpr int kCommandsWaitMs = 50'000;

struct Asked {
  std::string python;  // its path
  std::string answer;
  std::string error;
};

base::Result<Asked> ask(const std::string& python, const char* question,
                        const std::string& argument, int wait_ms = python_answer_ms_max) {
  const agent::Environment environment = agent::read_environment(environ);
  agent::RunOptions options;
  options.python = python;
  const agent::Interpreter interpreter = agent::find_interpreter(options, environment);
  if (interpreter.path.empty()) {
    return Status::not_found(
        fmt::format("{}: no such Python; name one with --python", interpreter.tried));
  }
  Asked asked{.python = interpreter.path, .answer = {}, .error = {}};
  asked.error = ask_python(interpreter.path, question, argument, asked.answer, wait_ms);
  return asked;
}

}  // namespace

base::Result<std::vector<std::string>> ask_for_commands(const std::string& python,
                                                        const std::string& directory) {
  auto asked = ask(python, kCommands, directory, kCommandsWaitMs);
  if (!asked.ok()) return asked.status();
  std::vector<std::string> commands;
  std::string_view rest = asked->answer;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with("command=")) continue;  // what a library prints
    line.remove_prefix(std::string_view("command=").size());
    // More than a binding may have would make an archive that nobody reads.
    if (line.size() > cache::binding_text_bytes_max) continue;
    if (commands.size() < cache::commands_max) commands.emplace_back(line);
  }
  if (asked->error.empty() && !commands.empty()) return commands;
  return Status::not_found(fmt::format("{}: its torch does not tell how it compiles ({})",
                                       asked->python,
                                       asked->error.empty() ? "no answer" : asked->error));
}

base::Result<TorchFacts> ask_for_torch(const std::string& python) {
  auto asked = ask(python, kQuestion, "");
  if (!asked.ok()) return asked.status();
  const std::string& answer = asked->answer;
  const std::string& error = asked->error;
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
                                       asked->python, error.empty() ? "it has no torch" : error));
}

}  // namespace headway::cli
