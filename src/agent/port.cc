#include "agent/port.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace headway::agent {
namespace {

base::Status port_error(const char* what) {
  return base::Status::io(
      fmt::format("cannot reserve a rendezvous port: {}: {}", what, std::strerror(errno)));
}

}  // namespace

base::Result<ReservedPort> reserve_port() {
  ReservedPort reserved;
  reserved.socket = base::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!reserved.socket.valid()) return port_error("socket");
  const int fd = reserved.socket.get();
  // Bound first without reuse, so that the port is nobody else's; reuse is allowed afterwards.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return port_error("bind");
  }
  const int on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return port_error("setsockopt");
  }
  socklen_t bytes = sizeof(address);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    return port_error("getsockname");
  }
  reserved.port = ntohs(address.sin_port);
  HW_CHECK(reserved.port > 0);
  return reserved;
}

}  // namespace headway::agent
