#include "agent/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "agent/leftovers.h"
#include "agent/spawn.h"
#include "base/check.h"
#include "base/clock.h"

namespace headway::agent {

namespace {

// The agent does it itself at the very moment; the coordinator's margin (half a second at least)
// pays for both.
constexpr std::int64_t kAfterAgentNs = 100'000'000;
constexpr int kAgentFd = 3;
constexpr int kTimerFd = 4;

}  // namespace

void Guard::serve(const std::string& run_id, pid_t agent) const {
  ::setsid();  // a Ctrl-C or a hang-up of the terminal is not for us
  ::prctl(PR_SET_NAME, "headway-guard");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // Keep nothing open that somebody may wait for the end of: pipes, the terminal, lock files.
  const int agent_fd =
      ::fcntl(static_cast<int>(::syscall(SYS_pidfd_open, agent, 0)), F_DUPFD, kTimerFd + 1);
  const int timer_fd = ::fcntl(timer_.get(), F_DUPFD, kTimerFd + 1);
  const int null_fd = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(null_fd, fd);
  if (::dup2(agent_fd, kAgentFd) < 0 || ::getppid() != agent) ::_exit(0);
  if (::dup2(timer_fd, kTimerFd) < 0) ::close(kTimerFd);  // poll reports it, and it is not read
  ::close_range(kTimerFd + 1, ~0U, 0);
  pollfd watched[2] = {{kAgentFd, POLLIN, 0}, {timer_fd < 0 ? -1 : kTimerFd, POLLIN, 0}};
  while (watched[0].revents == 0) {
    if (::poll(watched, 2, -1) < 0) continue;
    std::uint64_t rung = 0;
    const bool fenced = (watched[1].revents & POLLIN) != 0 &&
                        ::read(kTimerFd, &rung, sizeof(rung)) > 0;  // not put off meanwhile
    if (fenced) kill_marked(run_id);
  }
  kill_marked(run_id);
  ::_exit(0);
}

void Guard::start(const std::string& run_id) {
  HW_CHECK(pid_ == 0);
  timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) serve(run_id, agent);
  if (pid > 0) pid_ = pid;
}

void Guard::fence_at(std::optional<std::int64_t> boot_ns) {
  if (!timer_.valid()) return;
  itimerspec when{};  // zero: off
  if (boot_ns) {
    const std::int64_t at_ns = std::max<std::int64_t>(*boot_ns, 0) + kAfterAgentNs;
    when.it_value = {.tv_sec = at_ns / base::kNsPerSecond, .tv_nsec = at_ns % base::kNsPerSecond};
  }
  HW_CHECK(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr) == 0);
}

Guard::~Guard() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait_for_end(pid_);
  }
}

}  // namespace headway::agent
