// The coordinator on the network: CoordinatorCore behind one TCP port, inside somebody else's loop.
// Whenever fd() is readable, call serve(); then take what there is to decide. No threads, nothing
// blocks.
//
// It reads the lease clock itself: a message counts from a reading made after its bytes were, since
// an earlier one would let a node's lease seem to end before it does.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "cluster/coordinator_core.h"
#include "cluster/link.h"
#include "cluster/poller.h"

namespace headway::cluster {

class Coordinator {
 public:
  static constexpr std::size_t links_max = nodes_max + CoordinatorCore::strangers_max;
  static constexpr int accepts_max = 256;  // at once
  // How long a connection that we have ended may take to read its last message.
  static constexpr std::int64_t farewell_ns = 2'000'000'000;
  // With no descriptor left, this long nobody is let in.
  static constexpr std::int64_t accept_pause_ns = 500'000'000;

  // `host`: an address in numbers to listen at; empty: all of them. `port` 0: any.
  static base::Result<std::unique_ptr<Coordinator>> create(const CoordinatorConfig& config,
                                                           const std::string& host,
                                                           std::uint16_t port);

  [[nodiscard]] int fd() const { return poller_.fd(); }
  void serve();

  [[nodiscard]] std::optional<Decide> take_decide() { return std::exchange(decide_, {}); }
  [[nodiscard]] std::optional<int> take_ended() { return std::exchange(ended_, {}); }
  void decide(const Decision& decision);
  void use_setting(std::string setting) { core_.use_setting(std::move(setting)); }
  void request_end(int exit_code);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] CoordinatorStatus status() const { return core_.status(); }
  [[nodiscard]] bool over() const { return core_.over(); }

 private:
  struct Entry {
    Link link;
    bool ended = false;  // the core knows it no longer; only its last words are to be read
    std::uint32_t watched = 0;
  };

  explicit Coordinator(const CoordinatorConfig& config) : core_(config, lease_clock_ns()) {}
  base::Status listen(const std::string& host, std::uint16_t port);
  void accept_some();
  void serve_link(ConnectionId id, Entry& entry);
  void pump();
  void end_link(ConnectionId id);
  void drop(ConnectionId id);
  void keep_watching(ConnectionId id, Entry& entry);
  void sweep();

  CoordinatorCore core_;
  Poller poller_;
  base::UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::optional<std::int64_t> accept_again_ns_;
  std::unordered_map<ConnectionId, Entry> links_;
  std::deque<std::pair<std::int64_t, ConnectionId>> farewells_;
  ConnectionId newest_ = 0;
  std::optional<Decide> decide_;
  std::optional<int> ended_;
};

}  // namespace headway::cluster
