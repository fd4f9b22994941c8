#include "agent/ask.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/clock.h"

namespace headway::agent {
namespace {

// Takes what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  char bytes[4096];
  while (true) {
    const ssize_t got = ::read(fd, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const std::size_t room = Ask::bytes_max - into.size();
    into.append(bytes, std::min(static_cast<std::size_t>(got), room));
  }
}

}  // namespace

void Ask::start(std::vector<std::string> argv, const Environment& environment,
                const Signals& signals, std::int64_t bound_ns) {
  give_up();
  out_.clear();
  error_.clear();
  SpawnPlan plan;
  plan.argv = std::move(argv);
  plan.environment = environment;
  plan.capture_output = true;
  base::Result<Child> child = spawn(plan, signals);
  if (!child.ok()) {
    state_ = State::failed;
    error_ = child.status().message();
    return;
  }
  child_ = std::move(*child);
  deadline_ns_ = base::monotonic_ns() + bound_ns;
  state_ = State::pending;
}

Ask::State Ask::wait(std::int64_t wait_ns) {
  if (state_ != State::pending) return state_;
  const std::int64_t until_ns = std::min(base::monotonic_ns() + wait_ns, deadline_ns_);
  while (true) {
    if (child_.out.valid() && !drain(child_.out.get(), out_)) child_.out.reset();
    if (child_.err.valid() && !drain(child_.err.get(), error_)) child_.err.reset();
    if (!child_.out.valid() && !child_.err.valid()) {
      // Whoever reaps may have taken its exit code; what it wrote tells enough.
      state_ = State::answered;
      child_ = Child{};
      return state_;
    }
    const std::int64_t left_ns = until_ns - base::monotonic_ns();
    if (left_ns <= 0) break;
    pollfd fds[2] = {{child_.out.get(), POLLIN, 0}, {child_.err.get(), POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(left_ns / 1'000'000 + 1));
  }
  if (base::monotonic_ns() >= deadline_ns_) give_up();
  return state_;
}

void Ask::give_up() {
  if (state_ != State::pending) return;
  // By its descriptor: it may have ended and been reaped, and its number be another's by now.
  if (child_.pidfd.valid()) {
    ::syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
  }
  child_ = Child{};
  state_ = State::failed;
}

}  // namespace headway::agent
