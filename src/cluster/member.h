// An agent's connection to its job's coordinator: MemberCore on the network, inside somebody else's
// loop. Whenever fd() is readable, call serve(), then take_orders(); the events of the supervisor
// go in by the calls of the same names as the core's. No threads, nothing blocks, names are looked
// up anew for every attempt to connect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "cluster/link.h"
#include "cluster/member_core.h"
#include "cluster/poller.h"
#include "cluster/resolver.h"

namespace headway::cluster {

class Member {
 public:
  // `reserved_port`: for the first rendezvous.
  static base::Result<std::unique_ptr<Member>> create(const MemberConfig& config,
                                                      const std::string& host, std::uint16_t port,
                                                      std::uint16_t reserved_port);

  [[nodiscard]] int fd() const { return poller_.fd(); }
  void serve();
  [[nodiscard]] std::vector<Order> take_orders() { return std::exchange(orders_, {}); }

  void rank_failed(std::uint32_t local_rank, int exit_code, int signal);
  void ranks_stopped(std::uint16_t port, Account account = {});
  void finished(std::uint16_t port);
  void notice(std::uint32_t grace_ms);
  void boundary(std::uint64_t step);
  void held(std::uint64_t step);
  void beyond(std::uint64_t step);
  void leave();

  [[nodiscard]] std::optional<std::int64_t> lease_until_ns() const {
    return core_.lease_until_ns();
  }
  [[nodiscard]] bool joined() const { return core_.joined(); }
  [[nodiscard]] bool over() const { return core_.over(); }
  [[nodiscard]] std::uint64_t generation_seen() const { return core_.generation_seen(); }
  // Why there is no connection, for a person who waits; empty when there is one.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Member(const MemberConfig& config, std::string host, std::uint16_t port,
         std::uint16_t reserved_port);
  void dial();
  void on_resolved();
  void connect_next();
  void on_connecting();
  void serve_link();
  void hang_up();
  void lose(std::string why);
  void pump();

  std::string host_;
  std::uint16_t port_;
  MemberCore core_;
  Poller poller_;
  Resolver resolver_;
  std::vector<SocketAddress> addresses_;  // left to try in this attempt
  std::size_t attempts_ = 0;
  base::UniqueFd connecting_;
  std::optional<Link> link_;
  std::vector<Order> orders_;
  std::string trouble_;
};

}  // namespace headway::cluster
