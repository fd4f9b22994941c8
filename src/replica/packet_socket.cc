#include "replica/packet_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace headway::replica {
namespace {

using base::Result;
using base::Status;
using base::UniqueFd;

constexpr int kBacklog = 4096;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Status::invalid(path + ": too long for a socket's path; set HEADWAY_REPLICA_DIR");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> make_socket(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return base::errno_status(path, "socket", errno);
  return socket;
}

}  // namespace

Result<UniqueFd> listen_at(const std::string& path) {
  auto address = address_of(path);
  if (!address.ok()) return address.status();
  auto socket = make_socket(path);
  if (!socket.ok()) return socket;
  ::unlink(path.c_str());  // of one who died: the caller has the lock
  const auto* at = reinterpret_cast<const sockaddr*>(&*address);
  if (::bind(socket->get(), at, sizeof(sockaddr_un)) != 0 ||
      ::listen(socket->get(), kBacklog) != 0) {
    return base::errno_status(path, "listen", errno);
  }
  return socket;
}

Result<UniqueFd> connect_to(const std::string& path) {
  auto address = address_of(path);
  if (!address.ok()) return address.status();
  auto socket = make_socket(path);
  if (!socket.ok()) return socket;
  const auto* to = reinterpret_cast<const sockaddr*>(&*address);
  if (::connect(socket->get(), to, sizeof(sockaddr_un)) != 0) {
    return base::errno_status(path, "connect", errno);
  }
  return socket;
}

UniqueFd accept_from(int listener) {
  return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool send_packet(int socket, const Message& message) {
  const std::string packet = to_packet(message);
  ssize_t sent = -1;
  do {
    sent = ::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(packet.size());
}

Received receive_packet(int socket, Message& message) {
  std::vector<char> buffer(packet_bytes_max + 1);
  ssize_t got = -1;
  do {
    got = ::recv(socket, buffer.data(), buffer.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? Received::nothing : Received::closed;
  if (got == 0) return Received::closed;
  auto parsed = parse_packet({buffer.data(), static_cast<std::size_t>(got)});
  if (!parsed.ok()) return Received::garbage;
  message = std::move(*parsed);
  return Received::packet;
}

}  // namespace headway::replica
