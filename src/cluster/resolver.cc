#include "cluster/resolver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace headway::cluster {
namespace {

struct Answer {
  int error = 0;  // of getaddrinfo
  std::uint32_t count = 0;
  std::array<SocketAddress, Resolver::addresses_max> addresses{};
};
static_assert(sizeof(Answer) <= PIPE_BUF, "written and read in one piece");

Answer look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Answer answer;
  answer.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (answer.error != 0) return answer;
  for (const addrinfo* info = list; info != nullptr; info = info->ai_next) {
    if (answer.count == Resolver::addresses_max) break;
    SocketAddress& address = answer.addresses[answer.count++];
    address.bytes = info->ai_addrlen;
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
  }
  ::freeaddrinfo(list);
  return answer;
}

// Its copies of our sockets would keep connections open that we close.
[[noreturn]] void serve_child(const std::string& host, std::uint16_t port, int pipe) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr int kept = 3;
  if (pipe != kept) (void)::dup2(pipe, kept);
  (void)::syscall(SYS_close_range, kept + 1, ~0U, 0);
  const Answer answer = look_up(host, port, AI_ADDRCONFIG);
  const bool written = ::write(kept, &answer, sizeof(answer)) == sizeof(answer);
  ::_exit(written ? 0 : 1);
}

std::vector<SocketAddress> list_of(const Answer& answer) {
  const auto count = std::min<std::size_t>(answer.count, Resolver::addresses_max);
  return {answer.addresses.begin(), answer.addresses.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::vector<SocketAddress> numeric_addresses(const std::string& host, std::uint16_t port) {
  return list_of(look_up(host, port, AI_NUMERICHOST));
}

base::Status Resolver::ask(const std::string& host, std::uint16_t port) {
  cancel();
  host_ = host;
  numeric_ = numeric_addresses(host, port);
  return numeric_.empty() ? fork_child(port) : base::Status{};
}

base::Status Resolver::fork_child(std::uint16_t port) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return base::errno_status(host_, "cannot look up the name", errno);
  }
  pipe_.reset(ends[0]);
  const base::UniqueFd write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) serve_child(host_, port, write_end.get());
  if (pid < 0) {
    pipe_.reset();
    return base::errno_status(host_, "cannot look up the name: fork", errno);
  }
  child_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return {};
}

std::optional<base::Result<std::vector<SocketAddress>>> Resolver::take() {
  if (!numeric_.empty()) return std::exchange(numeric_, {});
  if (!pipe_.valid()) return std::nullopt;
  Answer answer;
  const ssize_t bytes = ::read(pipe_.get(), &answer, sizeof(answer));
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  cancel();
  if (bytes != sizeof(answer)) {
    return base::Status::io(fmt::format("{}: the name could not be looked up", host_));
  }
  if (answer.error != 0) {
    return base::Status::io(fmt::format("{}: {}", host_, ::gai_strerror(answer.error)));
  }
  return list_of(answer);
}

void Resolver::cancel() {
  pipe_.reset();
  numeric_.clear();
  if (!child_.valid()) return;
  (void)::syscall(SYS_pidfd_send_signal, child_.get(), SIGKILL, nullptr, 0);
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child_.get()), &info,
                  WEXITED) != 0 &&
         errno == EINTR) {
  }
  child_.reset();
}

}  // namespace headway::cluster
