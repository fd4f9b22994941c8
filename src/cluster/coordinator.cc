#include "cluster/coordinator.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "cluster/resolver.h"

namespace headway::cluster {
namespace {

constexpr std::uint64_t listener_key = std::numeric_limits<std::uint64_t>::max();
constexpr int backlog = 4'096;

// All addresses: of both families where there are both.
std::vector<SocketAddress> wildcards(std::uint16_t port) {
  SocketAddress six{.storage = {}, .bytes = sizeof(sockaddr_in6)};
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&six.storage);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  SocketAddress four{.storage = {}, .bytes = sizeof(sockaddr_in)};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&four.storage);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(port);
  return {six, four};
}

base::UniqueFd listening_socket(const SocketAddress& address) {
  base::UniqueFd socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket;
  const int on = 1;
  const int off = 0;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::bind(socket.get(), name, address.bytes) != 0 || ::listen(socket.get(), backlog) != 0) {
    const int error = errno;
    socket.reset();
    errno = error;
  }
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  HW_CHECK(::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) == 0);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

base::Result<std::unique_ptr<Coordinator>> Coordinator::create(const CoordinatorConfig& config,
                                                               const std::string& host,
                                                               std::uint16_t port) {
  if (base::Status status = check_config(config); !status.ok()) return status;
  auto coordinator = std::unique_ptr<Coordinator>(new Coordinator(config));
  if (base::Status status = coordinator->poller_.open(); !status.ok()) return status;
  if (base::Status status = coordinator->listen(host, port); !status.ok()) return status;
  coordinator->sweep();
  return coordinator;
}

base::Status Coordinator::listen(const std::string& host, std::uint16_t port) {
  std::vector<SocketAddress> addresses;
  if (host.empty()) {
    addresses = wildcards(port);
  } else {
    addresses = numeric_addresses(host, port);
    if (addresses.empty()) {
      return base::Status::invalid(
          fmt::format("{}: to listen at, an address in numbers is needed", host));
    }
  }
  for (const SocketAddress& address : addresses) {
    listener_ = listening_socket(address);
    if (listener_.valid()) break;
  }
  if (!listener_.valid()) {
    return base::errno_status(fmt::format("{}:{}", host.empty() ? "*" : host, port),
                              "cannot listen as the job's coordinator", errno);
  }
  port_ = port_of(listener_.get());
  poller_.watch(listener_.get(), EPOLLIN, listener_key);
  return {};
}

void Coordinator::serve() {
  for (const epoll_event& event : poller_.ready()) {
    if (event.data.u64 == listener_key) {
      accept_some();
    } else if (const auto found = links_.find(event.data.u64); found != links_.end()) {
      serve_link(found->first, found->second);
    }
  }
  core_.on_deadline(lease_clock_ns());
  pump();
  sweep();
}

void Coordinator::accept_some() {
  for (int i = 0; i < accepts_max; ++i) {
    base::UniqueFd socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        poller_.unwatch(listener_.get());
        accept_again_ns_ = lease_clock_ns() + accept_pause_ns;
      }
      return;
    }
    if (links_.size() >= links_max) continue;
    const ConnectionId id = ++newest_;
    const auto [entry, added] = links_.emplace(id, Entry{Link(std::move(socket))});
    HW_CHECK(added);
    core_.on_open(id, lease_clock_ns());
    keep_watching(id, entry->second);
  }
}

void Coordinator::serve_link(ConnectionId id, Entry& entry) {
  bool alive = entry.link.read() && entry.link.flush();
  const std::int64_t now_ns = lease_clock_ns();
  Message message;
  while (!entry.ended) {
    const auto more = entry.link.next(message);
    if (!more.ok()) alive = false;
    if (!more.ok() || !more.value()) break;
    core_.on_message(id, message, now_ns);
  }
  if (!alive) {
    drop(id);
    core_.on_close(id, now_ns);
  } else {
    keep_watching(id, entry);
  }
  pump();
}

// Until the core has no more to say: what cannot be sent is an end of a connection to it.
void Coordinator::pump() {
  for (;;) {
    CoordinatorOutput output = core_.take_output();
    if (output.decide) decide_ = std::move(output.decide);
    if (output.ended) ended_ = output.ended;
    if (output.sends.empty() && output.closes.empty()) break;
    for (const auto& [id, message] : output.sends) {
      const auto found = links_.find(id);
      if (found == links_.end() || found->second.ended) continue;
      Link& link = found->second.link;
      if (link.send(message) && link.flush()) {
        if (link.wants_to_write()) keep_watching(id, found->second);
        continue;
      }
      drop(id);
      core_.on_close(id, lease_clock_ns());
    }
    for (const ConnectionId id : output.closes) end_link(id);
  }
}

// Closing with bytes unread would take the last message away from the peer.
void Coordinator::end_link(ConnectionId id) {
  const auto found = links_.find(id);
  if (found == links_.end() || found->second.ended) return;
  found->second.ended = true;
  found->second.link.finish();
  farewells_.emplace_back(lease_clock_ns() + farewell_ns, id);
  keep_watching(id, found->second);
}

void Coordinator::drop(ConnectionId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  poller_.unwatch(found->second.link.fd());
  links_.erase(found);
}

void Coordinator::keep_watching(ConnectionId id, Entry& entry) {
  const bool writes = entry.link.wants_to_write() && !entry.ended;
  const std::uint32_t events = EPOLLIN | (writes ? EPOLLOUT : 0U);
  if (events == entry.watched) return;
  entry.watched = events;
  poller_.watch(entry.link.fd(), events, id);
}

void Coordinator::sweep() {
  const std::int64_t now_ns = lease_clock_ns();
  while (!farewells_.empty() && farewells_.front().first <= now_ns) {
    drop(farewells_.front().second);
    farewells_.pop_front();
  }
  if (accept_again_ns_ && *accept_again_ns_ <= now_ns) {
    accept_again_ns_.reset();
    poller_.watch(listener_.get(), EPOLLIN, listener_key);
  }
  std::optional<std::int64_t> next_ns = core_.deadline_ns();
  const auto consider = [&](std::int64_t at_ns) {
    next_ns = std::min(next_ns.value_or(at_ns), at_ns);
  };
  if (!farewells_.empty()) consider(farewells_.front().first);
  if (accept_again_ns_) consider(*accept_again_ns_);
  poller_.arm(next_ns);
}

void Coordinator::decide(const Decision& decision) {
  core_.on_decision(decision, lease_clock_ns());
  pump();
  sweep();
}

void Coordinator::request_end(int exit_code) {
  core_.request_end(exit_code, lease_clock_ns());
  pump();
  sweep();
}

}  // namespace headway::cluster
