#include "cluster/node_table.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"

namespace headway::cluster {
namespace {

// Nodes with an index come first.
auto order_of(const Node* node) {
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  return std::tuple<std::uint64_t, const std::string&>(node->index ? *node->index : none,
                                                       node->name);
}

}  // namespace

Node* NodeTable::find(const std::string& name) {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

Node* NodeTable::of(ConnectionId connection) {
  const auto found = by_connection_.find(connection);
  return found == by_connection_.end() ? nullptr : found->second;
}

const Node* NodeTable::holder_of(std::uint32_t index, const std::string& name) const {
  const auto found = by_index_.find(index);
  return found == by_index_.end() || found->second->name == name ? nullptr : found->second;
}

Node* NodeTable::add(const std::string& name) {
  HW_CHECK(find(name) == nullptr);
  if (nodes_.size() >= known_max) {
    const auto absent = std::find_if(nodes_.begin(), nodes_.end(), [](const auto& entry) {
      return entry.second.phase == Phase::absent;
    });
    if (absent == nodes_.end()) return nullptr;
    --counts_[static_cast<std::size_t>(Phase::absent)];
    nodes_.erase(absent);
  }
  Node& node = nodes_[name];
  node.name = name;
  ++counts_[static_cast<std::size_t>(node.phase)];
  return &node;
}

void NodeTable::set_phase(Node& node, Phase phase) {
  HW_CHECK(counts_[static_cast<std::size_t>(node.phase)] > 0);
  --counts_[static_cast<std::size_t>(node.phase)];
  node.phase = phase;
  ++counts_[static_cast<std::size_t>(phase)];
}

void NodeTable::attach(Node& node, ConnectionId connection) {
  HW_CHECK(connection > node.newest_connection);
  HW_CHECK(node.connection == 0);
  node.connection = connection;
  node.newest_connection = connection;
  node.left = false;
  by_connection_[connection] = &node;
  if (node.index) by_index_[*node.index] = &node;
}

void NodeTable::detach(Node& node) {
  HW_CHECK(node.connection != 0);
  by_connection_.erase(node.connection);
  if (node.index) by_index_.erase(*node.index);
  node.connection = 0;
}

std::vector<Node*> NodeTable::choose(std::size_t wanted) {
  std::vector<Node*> chosen;
  for (auto& [name, node] : nodes_) {
    if (node.phase == Phase::idle) chosen.push_back(&node);
  }
  const auto by_order = [](const Node* a, const Node* b) { return order_of(a) < order_of(b); };
  std::sort(chosen.begin(), chosen.end(), by_order);
  if (chosen.size() > wanted) {
    std::stable_partition(chosen.begin(), chosen.end(), [](const Node* n) { return n->in_round; });
    chosen.resize(wanted);
    std::sort(chosen.begin(), chosen.end(), by_order);
  }
  return chosen;
}

}  // namespace headway::cluster
