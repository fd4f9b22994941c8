#include "client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace headway::bench {
namespace {

// Of the header `name` ("\r\nContent-Length: "), as the server writes it.
std::optional<long> number_after(std::string_view head, std::string_view name) {
  const std::size_t at = head.find(name);
  if (at == std::string_view::npos) return {};
  return std::strtol(head.data() + at + name.size(), nullptr, 10);
}

}  // namespace

bool Client::connect() {
  fd_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_.valid()) return false;
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int result = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  if (result != 0 && errno != EINPROGRESS) return false;
  epoll_event event{EPOLLIN | EPOLLOUT, {.u64 = tag_}};
  writes_ = true;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_.get(), &event) == 0;
}

void Client::close() {
  fd_.reset();
  busy_ = false;
  in_.clear();
}

bool Client::want_write(bool wanted) {
  if (wanted == writes_) return true;
  writes_ = wanted;
  epoll_event event{wanted ? EPOLLIN | EPOLLOUT : std::uint32_t{EPOLLIN}, {.u64 = tag_}};
  return ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_.get(), &event) == 0;
}

bool Client::flush() {
  while (sent_ < head_.size() + body_.size()) {
    const std::size_t head_sent = std::min(sent_, head_.size());
    const std::size_t body_sent = sent_ - head_sent;
    std::array<iovec, 2> parts = {
        {{head_.data() + head_sent, head_.size() - head_sent},
         {const_cast<std::byte*>(body_.data()) + body_sent, body_.size() - body_sent}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t bytes = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (bytes < 0) return (errno == EAGAIN || errno == ENOTCONN) && want_write(true);
    sent_ += static_cast<std::size_t>(bytes);
  }
  return want_write(false);
}

bool Client::send(std::string head, std::span<const std::byte> body) {
  if (!fd_.valid() && !connect()) {
    close();
    return false;
  }
  head_ = std::move(head);
  body_ = body;
  sent_ = 0;
  in_.clear();
  busy_ = true;
  if (flush()) return true;
  close();
  return false;
}

std::optional<Answer> Client::parse() {
  const std::size_t end = in_.find("\r\n\r\n");
  if (end == std::string::npos) return {};
  const std::string_view head(in_.data(), end + 4);
  const auto length = number_after(head, "\r\nContent-Length: ");
  const std::size_t body = end + 4;
  if (!length || in_.size() < body + static_cast<std::size_t>(*length)) return {};
  Answer answer;
  answer.status = static_cast<int>(number_after(head, "HTTP/1.1 ").value_or(0));
  answer.retry_after_s = static_cast<int>(number_after(head, "\r\nRetry-After: ").value_or(0));
  answer.body = in_.substr(body, static_cast<std::size_t>(*length));
  const bool over = head.find("\r\nConnection: close") != std::string_view::npos;
  busy_ = false;
  in_.clear();
  if (over) close();
  return answer;
}

std::optional<Answer> Client::ready() {
  if (busy_ && !flush()) {
    // Refused before all was sent: what was said is still to be read.
    sent_ = head_.size() + body_.size();
  }
  std::array<char, 65536> buffer;
  while (fd_.valid()) {
    const ssize_t bytes = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (bytes > 0) {
      in_.append(buffer.data(), static_cast<std::size_t>(bytes));
      if (auto answer = parse()) return answer;
      continue;
    }
    if (bytes < 0 && errno == EAGAIN) return {};
    const bool asked = busy_;
    close();
    if (asked) return Answer{};
  }
  return {};
}

}  // namespace headway::bench
