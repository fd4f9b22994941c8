#include "agent/signals.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headway::agent {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

base::Status Signals::start(bool own_groups) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    if (!is_ignored(signal)) sigaddset(&watched, signal);
  }
  if (own_groups && !is_ignored(SIGTSTP)) sigaddset(&watched, SIGTSTP);
  sigaddset(&watched, SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, it would take the exit codes away
  sigset_t blocked = watched;
  sigaddset(&blocked, SIGPIPE);  // a reader that left shows as EPIPE
  if (::sigprocmask(SIG_BLOCK, &blocked, &original_mask_) != 0) {
    return base::Status::io(fmt::format("sigprocmask: {}", std::strerror(errno)));
  }
  fd_ = base::UniqueFd(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_.valid()) return base::Status::io(fmt::format("signalfd: {}", std::strerror(errno)));
  return {};
}

std::optional<Signal> Signals::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) {
    return std::nullopt;
  }
  const bool kernel = info.ssi_code == SI_KERNEL;
  return Signal{static_cast<int>(info.ssi_signo), kernel,
                kernel ? 0 : static_cast<int>(info.ssi_pid)};
}

void Signals::restore_in_child() const {
  ::sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
}

}  // namespace headway::agent
