#include "cli/doctor_python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/python_layout.h"
#include "base/file.h"
#include "base/start_process.h"

namespace headway::cli {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 * 1024;

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

// Everything the child writes until it closes the pipe; false when it took too long.
bool read_all(int fd, std::string& out) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(python_answer_ms_max);
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) == 0) return false;
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (out.size() + static_cast<std::size_t>(count) > kAnswerBytesMax) return false;
    out.append(buffer, static_cast<std::size_t>(count));
  }
}

// Runs `command -c QUESTION FOLDER` with its output in `answer`; an empty string when all is well.
std::string ask(const std::string& command, const std::string& folder, std::string& answer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::strerror(errno);
  const base::UniqueFd ours(ends[0]);
  base::UniqueFd theirs(ends[1]);
  auto pid = base::start_process(
      {.argv = {command, "-c", kQuestion, folder}, .descriptors = {{ends[1], STDOUT_FILENO}}});
  theirs.reset();
  if (!pid.ok()) return pid.status().message();
  const bool answered = read_all(ours.get(), answer);
  if (!answered) ::kill(*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answered) return fmt::format("no answer within {} s", python_answer_ms_max / 1000);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "does not start";
  return "";
}

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
  facts.error = ask(interpreter.path, hook.empty() ? "" : hook.back(), answer);
  if (facts.error.empty()) read_python_answer(answer, facts);
  if (hook.empty()) facts.hook_error = "Headway's Python package is not beside the binary";
  return facts;
}

}  // namespace headway::cli
