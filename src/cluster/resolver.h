// Host names to addresses without blocking and without threads: a child process asks, and its
// answer is read from a pipe. A name server that does not answer would otherwise hold up the agent,
// and with it the lease that fences its ranks. Single-threaded; one question at a time.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace headway::cluster {

struct SocketAddress {
  sockaddr_storage storage;
  socklen_t bytes;
};

// Of a host that is given in numbers; empty if it is a name.
std::vector<SocketAddress> numeric_addresses(const std::string& host, std::uint16_t port);

class Resolver {
 public:
  static constexpr std::size_t addresses_max = 16;

  Resolver() = default;
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver() { cancel(); }

  // An address in numbers is answered at once: take() has it.
  base::Status ask(const std::string& host, std::uint16_t port);
  // Readable when take() is worth trying; -1 when nothing is asked, or answered already.
  [[nodiscard]] int fd() const { return pipe_.get(); }
  // Nothing: not yet.
  std::optional<base::Result<std::vector<SocketAddress>>> take();
  void cancel();

 private:
  base::Status fork_child(std::uint16_t port);

  std::string host_;
  base::UniqueFd pipe_;
  base::UniqueFd child_;  // a pidfd: whoever else waits for children cannot confuse us
  std::vector<SocketAddress> numeric_;
};

}  // namespace headway::cluster
