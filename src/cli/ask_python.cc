#include "cli/ask_python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/start_process.h"

namespace headway::cli {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 * 1024;

// Everything the child writes until it closes the pipe; false when it took too long.
bool read_all(int fd, int wait_ms, std::string& out) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(wait_ms);
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

}  // namespace

std::string ask_python(const std::string& command, const std::string& question,
                       const std::string& argument, std::string& answer, int wait_ms) {
  return ask_program({command, "-c", question, argument}, answer, wait_ms);
}

std::string ask_program(std::vector<std::string> argv, std::string& answer, int wait_ms) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::strerror(errno);
  const base::UniqueFd ours(ends[0]);
  base::UniqueFd theirs(ends[1]);
  auto pid =
      base::start_process({.argv = std::move(argv), .descriptors = {{ends[1], STDOUT_FILENO}}});
  theirs.reset();
  if (!pid.ok()) return pid.status().message();
  const bool answered = read_all(ours.get(), wait_ms, answer);
  if (!answered) ::kill(*pid, SIGKILL);
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answered) return fmt::format("no answer within {} s", wait_ms / 1000);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "does not start";
  return "";
}

}  // namespace headway::cli
