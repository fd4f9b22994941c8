// The nodes a coordinator knows, by name: who is connected, what is known of their ranks, and in
// which order they take part. Pure bookkeeping; owned by CoordinatorCore.
//
// The order is a function of the set alone (index, then name), so that a node which returns has its
// old place, whatever the coordinator remembers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/limits.h"
#include "cluster/message.h"

namespace headway::cluster {

// Numbers rise in the order in which connections were accepted; 0 is none.
using ConnectionId = std::uint64_t;

enum class Phase : std::uint8_t {
  absent,    // not connected, no ranks
  idle,      // connected, no ranks
  running,   // connected, told to start
  stopping,  // connected, ranks may be left: a `stopped` is due
  finished,  // all ranks ended well; connected or not
  lost,      // not connected, ranks may be left until its lease has run out
};

struct Node {
  std::string name;
  std::uint64_t incarnation = 0;
  std::optional<std::uint32_t> index;
  std::uint32_t nproc = 1;
  std::string address;
  std::uint16_t port = 0;
  std::uint64_t generation = 0;  // of its ranks, while there may be some
  std::uint32_t node_rank = 0;   // in the round it is or was in
  bool in_round = false;         // of the newest generation
  bool left = false;             // it said goodbye, and has not come back
  ConnectionId connection = 0;
  ConnectionId newest_connection = 0;  // that it said hello on
  std::int64_t last_received_ns = 0;
  Phase phase = Phase::absent;  // by NodeTable::set_phase
};

class NodeTable {
 public:
  // Nodes that are not connected are remembered for their place in the last round only.
  static constexpr std::size_t known_max = 2 * std::size_t{nodes_max};

  [[nodiscard]] Node* find(const std::string& name);
  [[nodiscard]] Node* of(ConnectionId connection);
  // Who is connected with this index, other than `name`.
  [[nodiscard]] const Node* holder_of(std::uint32_t index, const std::string& name) const;
  // Forgets an absent node if there is no room; null if all of them count.
  Node* add(const std::string& name);
  void set_phase(Node& node, Phase phase);
  void attach(Node& node, ConnectionId connection);  // with its index set
  void detach(Node& node);

  [[nodiscard]] std::size_t count(Phase phase) const {
    return counts_[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] std::size_t connected() const { return by_connection_.size(); }
  // Of how many nodes we cannot say that no rank runs.
  [[nodiscard]] std::size_t with_ranks() const {
    return count(Phase::running) + count(Phase::stopping) + count(Phase::lost);
  }
  // At most `wanted` idle nodes in rank order; those of the last round are preferred to spares.
  [[nodiscard]] std::vector<Node*> choose(std::size_t wanted);

  [[nodiscard]] std::map<std::string, Node>& all() { return nodes_; }
  [[nodiscard]] const std::map<std::string, Node>& all() const { return nodes_; }

 private:
  std::map<std::string, Node> nodes_;
  std::unordered_map<ConnectionId, Node*> by_connection_;
  std::unordered_map<std::uint32_t, const Node*> by_index_;  // of those that are connected
  std::array<std::size_t, 6> counts_{};
};

}  // namespace headway::cluster
