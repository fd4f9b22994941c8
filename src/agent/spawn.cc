#include "agent/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/options.h"
#include "base/check.h"

namespace headway::agent {
namespace {

using base::Code;
using base::Status;

struct Pipe {
  base::UniqueFd read;
  base::UniqueFd write;
};

bool make_pipe(Pipe& pipe, int flags) {
  int fds[2];
  if (::pipe2(fds, flags | O_CLOEXEC) != 0) return false;
  pipe.read = base::UniqueFd(fds[0]);
  pipe.write = base::UniqueFd(fds[1]);
  return true;
}

Status pipe_failure() {
  return Status::io(fmt::format("cannot start a rank: pipe: {}", std::strerror(errno)));
}

// Everything the child needs, made before fork: after it only async-signal-safe calls are allowed.
struct Prepared {
  std::string program;
  std::vector<std::string> words;
  std::vector<char*> argv;
  std::vector<char*> envp;
  char* rank_pid = nullptr;  // the digits of HEADWAY_RANK_PID inside envp
  Pipe exec_error;
  OutputPipes output;
  pid_t agent = 0;
  bool own_process_group = true;
  int keep_fd = -1;
};

void write_pid(char* digits, pid_t pid) {
  char reversed[16];
  int count = 0;
  for (pid_t rest = pid; rest > 0 && count < 10; rest /= 10) {
    reversed[count++] = static_cast<char>('0' + rest % 10);
  }
  for (int i = 0; i < count; ++i) digits[i] = reversed[count - 1 - i];
  digits[count] = '\0';
}

[[noreturn]] void become(const Prepared& prepared, const Signals& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.agent) ::_exit(kExitAgentFault);  // it died before prctl
  if (prepared.own_process_group) ::setpgid(0, 0);
  if (prepared.rank_pid != nullptr) write_pid(prepared.rank_pid, ::getpid());
  if (prepared.output.null_input.valid()) {
    ::dup2(prepared.output.null_input.get(), STDIN_FILENO);
    ::dup2(prepared.output.out_write.get(), STDOUT_FILENO);
    ::dup2(prepared.output.err_write.get(), STDERR_FILENO);
  }
  if (prepared.keep_fd >= 0) ::fcntl(prepared.keep_fd, F_SETFD, 0);
  signals.restore_in_child();
  ::execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  const int error = errno;
  const ssize_t ignored = ::write(prepared.exec_error.write.get(), &error, sizeof(error));
  (void)ignored;
  ::_exit(kExitAgentFault);
}

Status exec_failure(const std::string& program, int error) {
  const Code code = error == ENOENT                       ? Code::not_found
                    : error == EACCES || error == ENOEXEC ? Code::unsupported
                                                          : Code::io_error;
  return {code, fmt::format("{}: cannot be executed: {}", program, std::strerror(error))};
}

Status prepare(const SpawnPlan& plan, Prepared& prepared) {
  HW_CHECK(!plan.argv.empty());
  prepared.program = find_program(plan.argv.front(), plan.environment);
  if (prepared.program.empty()) {
    return Status::not_found(fmt::format("{}: command not found", plan.argv.front()));
  }
  prepared.agent = ::getpid();
  prepared.own_process_group = plan.own_process_group;
  prepared.words = plan.argv;
  for (const auto& [name, value] : plan.environment) prepared.words.push_back(name + '=' + value);
  for (std::size_t i = 0; i < prepared.words.size(); ++i) {
    (i < plan.argv.size() ? prepared.argv : prepared.envp).push_back(prepared.words[i].data());
    const std::string rank_pid = std::string(kRankPidVariable) + '=';
    if (i >= plan.argv.size() && prepared.words[i].starts_with(rank_pid)) {
      prepared.rank_pid = prepared.words[i].data() + rank_pid.size();
    }
  }
  prepared.argv.push_back(nullptr);
  prepared.envp.push_back(nullptr);
  prepared.keep_fd = plan.keep_fd;
  if (!make_pipe(prepared.exec_error, 0)) return pipe_failure();
  return plan.capture_output ? make_output_pipes(prepared.output) : Status();
}

// fork() without the handlers that libraries hang on it: the recorder's would count the child as
// one that goes on recording, and it only executes another program.
pid_t fork_quietly() {
  return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  HW_CHECK(flags >= 0);
  HW_CHECK(::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

}  // namespace

Status make_output_pipes(OutputPipes& pipes) {
  Pipe out, err;
  pipes.null_input = base::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!pipes.null_input.valid() || !make_pipe(out, 0) || !make_pipe(err, 0)) return pipe_failure();
  make_nonblocking(out.read.get());
  make_nonblocking(err.read.get());
  pipes.out_read = std::move(out.read);
  pipes.out_write = std::move(out.write);
  pipes.err_read = std::move(err.read);
  pipes.err_write = std::move(err.write);
  return {};
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

base::UniqueFd open_pidfd(pid_t pid) {
  return base::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::string find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  const std::string* path = find_variable(environment, "PATH");
  std::string_view rest =
      path != nullptr ? std::string_view(*path) : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    std::string candidate(rest.substr(0, colon));
    candidate += candidate.empty() ? "./" : "/";
    candidate += name;
    struct stat info{};
    if (::access(candidate.c_str(), X_OK) == 0 && ::stat(candidate.c_str(), &info) == 0 &&
        S_ISREG(info.st_mode)) {
      return candidate;
    }
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

base::Result<Child> spawn(const SpawnPlan& plan, const Signals& signals) {
  Prepared prepared;
  if (Status status = prepare(plan, prepared); !status.ok()) return status;
  Child child;
  child.pid = fork_quietly();
  if (child.pid < 0) {
    return Status::io(fmt::format("cannot start a rank: fork: {}", std::strerror(errno)));
  }
  if (child.pid == 0) become(prepared, signals);
  if (plan.own_process_group) ::setpgid(child.pid, child.pid);  // both sides: whoever is first
  prepared.exec_error.write.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(prepared.exec_error.read.get(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof(error))) {
    ::waitpid(child.pid, nullptr, 0);
    return exec_failure(prepared.program, error);
  }
  child.pidfd = open_pidfd(child.pid);
  child.out = std::move(prepared.output.out_read);
  child.err = std::move(prepared.output.err_read);
  return child;
}

}  // namespace headway::agent
