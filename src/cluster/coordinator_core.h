// The rules by which the agents of a job agree who takes part, in which order and in which
// generation. A state machine without a system call; `now` is an argument, in ns of a clock that
// also counts while the machine sleeps. Single-threaded.
//
//   gathering ──enough nodes──▶ running ──all finished──▶ ended
//       ▲                          │ a rank fails, a node is lost or comes
//       │                          ▼
//       ├──only nodes came──── stopping ──no rank is left anywhere──▶ deciding
//       └────────────────────────────── restart ─────────────────────────┘──end──▶ ended
//
// What it promises: ranks of two generations never run at the same time. A generation starts only
// when every node is known to have no ranks: because it said so, on the newest of its connections,
// or because it was silent for a lease and a margin. A member kills its ranks when a lease has
// passed since it sent the last ping that was answered, and that ping was received no earlier than
// it was sent. The margin pays for the kill itself and for clocks that run at different speeds.
//
// Nothing is called back: after each input take_output() has what to send, which connections to
// close (after what was sent), and what the host has to decide.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cluster/drain_core.h"
#include "cluster/message.h"
#include "cluster/node_table.h"

namespace headway::cluster {

struct CoordinatorConfig {
  std::string job;
  std::string token;
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 1;
  std::int64_t lease_ns = 5'000'000'000;  // whole milliseconds
  std::int64_t margin_ns = 1'000'000'000;
  // How long to wait for more nodes once there are enough, since the last one came or went; and how
  // long at most, however many come and go.
  std::int64_t last_call_ns = 5'000'000'000;
  std::int64_t last_call_total_ns = 60'000'000'000;
  bool rejoin = true;  // a running round below max_nodes is restarted for nodes that come later
  std::int64_t rejoin_min_interval_ns = 30'000'000'000;
  std::int64_t linger_ns = 30'000'000'000;  // after the end, for members that have not heard of it
  std::uint64_t drain_margin_steps = 2;
  // Generations begin above it and above what members tell. A host that writes down a higher one
  // before each start of a coordinator never sees a generation twice, though all members forget.
  std::uint64_t generation_floor = 0;
  // Could members still train for an earlier coordinator of this job? Then their leases are waited
  // out first. Only a host that knows itself to be the first may say no.
  bool predecessor_possible = true;
  std::optional<int> ended_with;  // the job is over: tell whoever comes
};

// In a user's words, what CoordinatorCore would abort on.
base::Status check_config(const CoordinatorConfig& config);

enum class FailureKind : std::uint8_t { rank_failed, node_lost, node_left };
struct Failure {
  FailureKind kind = FailureKind::rank_failed;
  std::string node;
  std::uint32_t rank = 0;  // the last three: of a rank that failed
  int exit_code = 0;
  int signal = 0;
  Account account{};  // what the node made of it afterwards, if it said so
};

// All ranks of a generation are gone: what now? Answered by on_decision.
struct Decide {
  static constexpr std::size_t failures_max = 16;  // kept; the first of them is the cause
  std::uint64_t generation = 0;
  std::vector<Failure> failures;
  std::uint64_t failures_total = 0;  // of this generation, kept or not
  std::uint32_t restarts = 0;        // decided so far
  bool progressed = false;           // some node says so of its ranks
  bool drained = false;              // no failure: the ranks stopped after an agreed step
};
struct Decision {
  bool restart = false;
  std::int64_t delay_ns = 0;  // before the restart
  int exit_code = 0;          // of the job, if it ends
};

struct CoordinatorOutput {
  struct Send {
    ConnectionId connection = 0;
    Message message;
  };
  std::vector<Send> sends;
  std::vector<ConnectionId> closes;
  std::optional<Decide> decide;
  std::optional<int> ended;  // the exit code; once
};

enum class RoundState : std::uint8_t { gathering, running, stopping, deciding, ended };
// For a person who waits.
struct CoordinatorStatus {
  RoundState state = RoundState::gathering;
  std::uint64_t generation = 0;
  std::size_t nodes_connected = 0;
  std::size_t nodes_idle = 0;
  std::size_t nodes_lost = 0;
  std::uint64_t refused = 0;
};

class CoordinatorCore {
 public:
  static constexpr std::size_t strangers_max = 4'096;  // connected, no hello yet

  CoordinatorCore(const CoordinatorConfig& config, std::int64_t now_ns);

  // Ids rise from 1. A connection that was closed by us may still be reported closed.
  void on_open(ConnectionId connection, std::int64_t now_ns);
  void on_close(ConnectionId connection, std::int64_t now_ns);
  void on_message(ConnectionId connection, const Message& message, std::int64_t now_ns);
  void on_deadline(std::int64_t now_ns);
  void on_decision(const Decision& decision, std::int64_t now_ns);
  // What all ranks of later rounds are told, at most setting_bytes_max of it.
  void use_setting(std::string setting);
  // Somebody wants the job to end: ranks are stopped, then everybody is told.
  void request_end(int exit_code, std::int64_t now_ns);

  [[nodiscard]] std::optional<std::int64_t> deadline_ns() const;
  [[nodiscard]] CoordinatorOutput take_output() { return std::exchange(output_, {}); }
  [[nodiscard]] CoordinatorStatus status() const;
  // Ended, and everybody has been told or had his time.
  [[nodiscard]] bool over() const { return over_; }

 private:
  // Messages (coordinator_core.cc).
  void send(ConnectionId connection, Message message);
  void send_round(const Message& message);
  void refuse(ConnectionId connection, Refusal why, std::string text);
  void on_hello(ConnectionId connection, const Hello& hello, std::int64_t now_ns);
  [[nodiscard]] std::optional<Refuse> objection(ConnectionId connection, const Hello& hello);
  void admit(Node& node, const Hello& hello, std::int64_t now_ns);
  void on_node_message(Node& node, const Message& message);
  void on_ranks_gone(Node& node, std::uint64_t generation, std::uint16_t port, bool finished);
  void on_failed(Node& node, const Failed& failed);
  void on_stopped(Node& node, const Stopped& stopped);
  void on_notice(const Notice& notice);
  template <typename Answer>
  void on_drain_answer(Node& node, const Answer& answer);
  [[nodiscard]] Message to_message(const DrainCore::Word::value_type& word) const;
  void tell(const DrainCore::Word& word);

  // Rounds (coordinator_round.cc).
  void disconnect(Node& node);
  void leave(Node& node);
  void note_failure(Failure failure);
  void begin_stop(StopWhy why);
  void settle(std::int64_t now_ns);
  void after_stop(std::int64_t now_ns);
  void complete(std::int64_t now_ns);
  void gather(std::int64_t now_ns);
  void start_round(std::int64_t now_ns);
  void end(int exit_code, std::int64_t now_ns);
  void decide(bool drained);
  [[nodiscard]] std::optional<std::int64_t> start_at_ns() const;
  [[nodiscard]] std::optional<std::int64_t> rejoin_at_ns() const;
  void expire_nodes(std::int64_t now_ns);

  CoordinatorConfig config_;
  NodeTable nodes_;
  DrainCore drain_;
  CoordinatorOutput output_;
  std::map<ConnectionId, std::int64_t> strangers_;  // until when they may keep silent
  RoundState state_ = RoundState::gathering;
  std::uint64_t generation_ = 0;
  std::uint64_t generation_told_ = 0;
  std::string setting_;
  std::uint32_t round_nodes_ = 0;
  std::uint32_t restarts_ = 0;
  std::vector<Failure> failures_;
  std::uint64_t failures_total_ = 0;
  bool progressed_ = false;
  std::uint64_t refused_ = 0;
  std::optional<int> end_requested_;
  int exit_code_ = 0;
  bool over_ = false;
  std::int64_t not_before_ns_ = 0;  // the next start
  std::int64_t changed_ns_ = 0;     // when a node came, or was last heard of before it went
  std::optional<std::int64_t> enough_since_ns_;
  std::optional<std::int64_t> rejoined_ns_;
  // No node's silence ends earlier: a bound that is made exact only when it is reached, since every
  // ping moves the true one.
  std::optional<std::int64_t> expiry_check_ns_;
  std::int64_t linger_until_ns_ = 0;
};

}  // namespace headway::cluster
