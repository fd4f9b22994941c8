// A coordinator's rules on a bench: the test plays the members and the clock.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/coordinator_core.h"

namespace headway::cluster::test {

inline constexpr std::int64_t kSecond = 1'000'000'000;

inline CoordinatorConfig config_of(std::uint32_t min_nodes, std::uint32_t max_nodes) {
  CoordinatorConfig config;
  config.job = "dlrm";
  config.token = "secret";
  config.min_nodes = min_nodes;
  config.max_nodes = max_nodes;
  config.predecessor_possible = false;
  return config;
}

// A coordinator and what it has said since it was last asked.
class CoordinatorBench {
 public:
  explicit CoordinatorBench(const CoordinatorConfig& config) : core_(config, 0) {}

  static Hello hello_of(const std::string& node) {
    return {.job = "dlrm",
            .token = "secret",
            .node = node,
            .incarnation = 1,
            .index = {},
            .nproc = 2,
            .port = 1'000,
            .address = "addr-" + node};
  }
  ConnectionId join(const Hello& hello) {
    core_.on_open(++newest_, now_);
    say(newest_, hello);
    return newest_;
  }
  ConnectionId join(const std::string& node) { return join(hello_of(node)); }
  void say(ConnectionId connection, const Message& message) {
    core_.on_message(connection, message, now_);
    collect();
  }
  void close(ConnectionId connection) {
    core_.on_close(connection, now_);
    collect();
  }
  // Time passes; all deadlines on the way are kept, and whoever is in `alive` pings.
  void pass(std::int64_t ns, const std::vector<ConnectionId>& alive = {}) {
    const std::int64_t until = now_ + ns;
    while (now_ < until) {
      now_ = std::min(until, now_ + kSecond / 10);
      for (const ConnectionId connection : alive) core_.on_message(connection, Ping{1}, now_);
      core_.on_deadline(now_);
      collect();
    }
  }
  void use_setting(const std::string& setting) { core_.use_setting(setting); }
  void decide(const Decision& decision) {
    core_.on_decision(decision, now_);
    collect();
  }
  void end(int exit_code) {
    core_.request_end(exit_code, now_);
    collect();
  }
  // The newest message of a type to a connection since the last `clear`.
  template <typename T>
  std::optional<T> told(ConnectionId connection) const {
    std::optional<T> found;
    for (const auto& send : sends_) {
      if (send.connection != connection) continue;
      if (const T* message = std::get_if<T>(&send.message)) found = *message;
    }
    return found;
  }
  void clear() { sends_.clear(); }

  CoordinatorCore core_;
  std::int64_t now_ = 0;
  std::vector<ConnectionId> closes_;
  std::optional<Decide> decide_;
  std::optional<int> ended_;

 private:
  void collect() {
    CoordinatorOutput output = core_.take_output();
    for (auto& send : output.sends) sends_.push_back(std::move(send));
    closes_.insert(closes_.end(), output.closes.begin(), output.closes.end());
    if (output.decide) decide_ = output.decide;
    if (output.ended) ended_ = output.ended;
  }
  ConnectionId newest_ = 0;
  std::vector<CoordinatorOutput::Send> sends_;
};

}  // namespace headway::cluster::test
