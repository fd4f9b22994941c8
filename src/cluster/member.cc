#include "cluster/member.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace headway::cluster {
namespace {

enum Key : std::uint64_t { resolver_key = 1, connecting_key, link_key };

}  // namespace

Member::Member(const MemberConfig& config, std::string host, std::uint16_t port,
               std::uint16_t reserved_port)
    : host_(std::move(host)), port_(port), core_(config, reserved_port, lease_clock_ns()) {}

base::Result<std::unique_ptr<Member>> Member::create(const MemberConfig& config,
                                                     const std::string& host, std::uint16_t port,
                                                     std::uint16_t reserved_port) {
  if (base::Status status = check_config(config); !status.ok()) return status;
  auto member = std::unique_ptr<Member>(new Member(config, host, port, reserved_port));
  if (base::Status status = member->poller_.open(); !status.ok()) return status;
  member->pump();
  return member;
}

void Member::serve() {
  for (const epoll_event& event : poller_.ready()) {
    switch (event.data.u64) {
      case resolver_key:
        on_resolved();
        break;
      case connecting_key:
        on_connecting();
        break;
      case link_key:
        serve_link();
        break;
      default:
        HW_CHECK(false);
    }
  }
  core_.on_deadline(lease_clock_ns());
  pump();
}

void Member::dial() {
  if (base::Status status = resolver_.ask(host_, port_); !status.ok()) {
    return lose(status.message());
  }
  if (resolver_.fd() >= 0) poller_.watch(resolver_.fd(), EPOLLIN, resolver_key);
  on_resolved();
}

void Member::on_resolved() {
  auto answer = resolver_.take();
  if (!answer) return;
  if (!answer->ok()) return lose(answer->status().message());
  addresses_ = std::move(*answer).value();
  // Each attempt begins with another one, so that one that never answers does not hide the rest.
  if (!addresses_.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(attempts_++ % addresses_.size());
    std::rotate(addresses_.begin(), addresses_.begin() + first, addresses_.end());
  }
  std::reverse(addresses_.begin(), addresses_.end());  // taken from the back
  connect_next();
}

void Member::connect_next() {
  connecting_.reset();
  while (!addresses_.empty()) {
    const SocketAddress address = addresses_.back();
    addresses_.pop_back();
    connecting_.reset(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    if (connecting_.valid() &&
        (::connect(connecting_.get(), name, address.bytes) == 0 || errno == EINPROGRESS)) {
      poller_.watch(connecting_.get(), EPOLLOUT, connecting_key);
      return;
    }
    trouble_ = fmt::format("{}:{}: {}", host_, port_, std::strerror(errno));
    connecting_.reset();
  }
  lose(trouble_);
}

void Member::on_connecting() {
  if (!connecting_.valid()) return;
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (::getsockopt(connecting_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  if (error != 0) {
    trouble_ = fmt::format("{}:{}: {}", host_, port_, std::strerror(error));
    return connect_next();
  }
  addresses_.clear();
  link_.emplace(std::move(connecting_));
  poller_.watch(link_->fd(), EPOLLIN, link_key);
  core_.on_connected(link_->own_address(), link_->peer_address(), lease_clock_ns());
}

void Member::serve_link() {
  if (!link_) return;
  const bool alive = link_->read() && link_->flush();
  Message message;
  while (link_) {
    const auto more = link_->next(message);
    if (!more.ok()) return lose(fmt::format("{}:{}: {}", host_, port_, more.status().message()));
    if (!more.value()) break;
    core_.on_message(message, lease_clock_ns());
    pump();
  }
  if (link_ && !alive) {
    lose(fmt::format("{}:{}: the coordinator closed the connection", host_, port_));
  }
}

// Whatever stands of the connection is gone; the core knows, or has ordered it.
void Member::hang_up() {
  resolver_.cancel();
  addresses_.clear();
  connecting_.reset();
  if (link_) {
    link_->finish();
    poller_.unwatch(link_->fd());  // a child that looks up a name may hold a copy for a moment
  }
  link_.reset();
}

void Member::lose(std::string why) {
  hang_up();
  trouble_ = std::move(why);
  core_.on_disconnected(lease_clock_ns());
}

void Member::pump() {
  if (core_.joined()) trouble_.clear();
  MemberOutput output = core_.take_output();
  std::move(output.orders.begin(), output.orders.end(), std::back_inserter(orders_));
  bool sent = true;
  for (const Message& message : output.sends) sent = sent && link_ && link_->send(message);
  if (link_) {
    sent = link_->flush() && sent;
    poller_.watch(link_->fd(), EPOLLIN | (link_->wants_to_write() ? EPOLLOUT : 0U), link_key);
    if (!sent && !output.hang_up) lose(fmt::format("{}:{}: cannot send", host_, port_));
  }
  if (output.hang_up) hang_up();
  if (output.dial) dial();
  poller_.arm(core_.deadline_ns());
}

void Member::rank_failed(std::uint32_t local_rank, int exit_code, int signal) {
  core_.rank_failed(local_rank, exit_code, signal, lease_clock_ns());
  pump();
}

void Member::ranks_stopped(std::uint16_t port, Account account) {
  core_.ranks_stopped(port, lease_clock_ns(), std::move(account));
  pump();
}

void Member::finished(std::uint16_t port) {
  core_.finished(port, lease_clock_ns());
  pump();
}

void Member::notice(std::uint32_t grace_ms) {
  core_.notice(grace_ms, lease_clock_ns());
  pump();
}

void Member::boundary(std::uint64_t step) {
  core_.boundary(step, lease_clock_ns());
  pump();
}

void Member::held(std::uint64_t step) {
  core_.held(step, lease_clock_ns());
  pump();
}

void Member::beyond(std::uint64_t step) {
  core_.beyond(step, lease_clock_ns());
  pump();
}

void Member::leave() {
  core_.leave(lease_clock_ns());
  pump();
}

}  // namespace headway::cluster
