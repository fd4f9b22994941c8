#include "agent/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "agent/leftovers.h"
#include "agent/spawn.h"
#include "base/check.h"

namespace headway::agent {

void Guard::serve(const std::string& run_id, pid_t agent) {
  ::setsid();  // a Ctrl-C or a hang-up of the terminal is not for us
  ::prctl(PR_SET_NAME, "headway-guard");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int agent_fd = static_cast<int>(::syscall(SYS_pidfd_open, agent, 0));
  // Keep nothing open that somebody may wait for the end of: pipes, the terminal, lock files.
  const int null_fd = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(null_fd, fd);
  if (agent_fd < 0 || ::getppid() != agent) ::_exit(0);
  if (agent_fd > 3) {
    if (::dup2(agent_fd, 3) != 3) ::_exit(0);
  }
  ::close_range(agent_fd < 3 ? 3 : 4, ~0u, 0);
  pollfd agent_end{agent_fd < 3 ? agent_fd : 3, POLLIN, 0};
  while (::poll(&agent_end, 1, -1) < 0 && errno == EINTR) {
  }
  kill_marked(run_id);
  ::_exit(0);
}

void Guard::start(const std::string& run_id) {
  HW_CHECK(pid_ == 0);
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) serve(run_id, agent);
  if (pid > 0) pid_ = pid;
}

Guard::~Guard() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait_for_end(pid_);
  }
}

}  // namespace headway::agent
