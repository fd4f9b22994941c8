#include "cli/fleet_spark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/environment.h"
#include "agent/python_layout.h"
#include "base/file.h"
#include "base/start_process.h"

namespace headway::cli {
namespace {

using base::Result;
using base::Status;

constexpr std::size_t kAnswerBytesMax = 64 << 20;
constexpr int kAboveStandard = 10;  // descriptors that are handed on must lie above where they go

std::vector<std::string> command_of(const std::string& python, const SparkOptions& options) {
  std::vector<std::string> argv = {python,     "-m",           "headway.fleet", "--follow-parent",
                                   "--spark",  options.master, "--journals",    options.journals,
                                   "--out",    options.out,    "--by",          options.by,
                                   "--tenant", options.tenant};
  for (const std::string& setting : options.settings) {
    argv.push_back("--conf");
    argv.push_back(setting);
  }
  if (options.partitions > 0) {
    argv.push_back("--partitions");
    argv.push_back(fmt::format("{}", options.partitions));
  }
  if (options.replace) argv.push_back("--replace");
  return argv;
}

// The package's folder first, whatever else the user has on it.
Status set_python_path() {
  const agent::Environment environment = agent::read_environment(environ);
  const std::vector<std::string> hook = agent::find_hook(agent::own_binary(), environment);
  if (hook.size() < 2) {
    return Status::not_found(
        "Headway's Python package is not beside this binary; set HEADWAY_PYTHON_DIR to its folder");
  }
  std::string path = hook.back();
  if (const std::string* before = agent::find_variable(environment, "PYTHONPATH")) {
    path += ":" + *before;
  }
  ::setenv("PYTHONPATH", path.c_str(), 1);
  ::setenv("PYTHONSAFEPATH", "1", 1);  // a folder `headway` where we stand is not it
  return {};
}

std::string read_all(int fd) {
  std::string out;
  char buffer[65536];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || out.size() > kAnswerBytesMax) return out;
    out.append(buffer, static_cast<std::size_t>(count));
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<SparkEnd> run_on_spark(const SparkOptions& options) {
  agent::RunOptions run;
  run.python = options.python;
  const agent::Interpreter interpreter =
      agent::find_interpreter(run, agent::read_environment(environ));
  if (interpreter.path.empty()) {
    return Status::not_found(
        fmt::format("{}: no such Python; name one with --python", interpreter.tried));
  }
  if (Status status = set_python_path(); !status.ok()) return status;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::errno_status("a pipe", "make", errno);
  const base::UniqueFd ours(ends[0]);
  base::UniqueFd write_end(ends[1]);
  base::UniqueFd theirs(::fcntl(write_end.get(), F_DUPFD_CLOEXEC, kAboveStandard));
  base::UniqueFd errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kAboveStandard));
  if (!theirs.valid() || !errors.valid()) return base::errno_status("a pipe", "make", errno);
  // Ctrl-C reaches it, too: it takes away what is half written, and we wait for that.
  ::signal(SIGINT, SIG_IGN);
  auto pid = base::start_process(
      {.argv = command_of(interpreter.path, options),
       .descriptors = {{theirs.get(), STDOUT_FILENO}, {errors.get(), STDERR_FILENO}}});
  if (!pid.ok()) return pid.status();
  theirs.reset();
  write_end.reset();
  const std::string answer = read_all(ours.get());
  SparkEnd end;
  end.exit_code = wait_for(*pid);
  if (end.exit_code != 0) return end;
  auto summary = read_summary(answer);
  if (!summary.ok()) return summary.status();
  end.summary = std::move(*summary);
  return end;
}

}  // namespace headway::cli
