#include "agent/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>

#include "base/check.h"

namespace headway::agent {

void Guard::serve(const Table* table, pid_t agent) {
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
  for (const std::atomic<pid_t>& slot : table->groups) {
    const pid_t group = slot.load();
    if (group > 1) ::kill(-group, SIGKILL);
  }
  ::_exit(0);
}

void Guard::start() {
  HW_CHECK(pid_ == 0);
  void* memory =
      ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  table_ = new (memory) Table{};
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) serve(table_, agent);
  if (pid > 0) pid_ = pid;
}

void Guard::watch(int rank, pid_t group) {
  HW_CHECK(rank >= 0 && rank < kRanksMax);
  if (table_ != nullptr) table_->groups[rank].store(group);
}

void Guard::forget(int rank) {
  watch(rank, 0);
}

Guard::~Guard() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (table_ != nullptr) ::munmap(table_, sizeof(Table));
}

}  // namespace headway::agent
