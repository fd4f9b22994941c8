#include "cluster/link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/check.h"

namespace headway::cluster {
namespace {

using NameCall = int (*)(int, sockaddr*, socklen_t*);

std::string address_by(NameCall call, int socket) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  std::array<char, NI_MAXHOST> text{};
  if (call(socket, address, &bytes) != 0 ||
      ::getnameinfo(address, bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  std::string_view view = text.data();
  if (view.starts_with("::ffff:")) view.remove_prefix(7);
  return std::string(view);
}

}  // namespace

void set_no_delay(int socket) {
  const int on = 1;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Link::Link(base::UniqueFd socket) : socket_(std::move(socket)) {
  HW_CHECK(socket_.valid());
  set_no_delay(socket_.get());
}

bool Link::send(const Message& message) {
  append_frame(out_, message);
  return out_.size() - sent_ <= send_bytes_max;
}

bool Link::flush() {
  while (wants_to_write()) {
    const ssize_t bytes =
        ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (bytes < 0) return false;
    sent_ += static_cast<std::size_t>(bytes);
  }
  out_.erase(0, sent_);
  sent_ = 0;
  return true;
}

bool Link::read() {
  std::array<char, read_bytes_max> buffer;
  for (;;) {
    const ssize_t bytes = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (bytes > 0) {
      if (!finished_) frames_.feed({buffer.data(), static_cast<std::size_t>(bytes)});
      return true;  // more, or the end, is told by the next event
    }
    if (bytes < 0 && errno == EINTR) continue;
    return bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

void Link::finish() {
  finished_ = true;
  (void)flush();
  (void)::shutdown(socket_.get(), SHUT_WR);
}

std::string Link::own_address() const {
  return address_by([](int s, sockaddr* a, socklen_t* n) { return ::getsockname(s, a, n); },
                    socket_.get());
}

std::string Link::peer_address() const {
  return address_by([](int s, sockaddr* a, socklen_t* n) { return ::getpeername(s, a, n); },
                    socket_.get());
}

}  // namespace headway::cluster
