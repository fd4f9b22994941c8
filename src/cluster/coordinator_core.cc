#include "cluster/coordinator_core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cluster/overloaded.h"

namespace headway::cluster {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

// Takes the same time whatever differs.
bool same_token(const std::string& a, const std::string& b) {
  const auto byte = [](const std::string& text, std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < token_bytes_max; ++i) difference |= byte(a, i) ^ byte(b, i);
  return difference == 0;
}

bool may_pass(Refusal why) {
  return why != Refusal::other_job && why != Refusal::wrong_token && why != Refusal::version;
}

std::string cut_reason(std::string text) {
  if (text.size() > reason_bytes_max) text.resize(reason_bytes_max);
  return text;
}

}  // namespace

base::Status check_config(const CoordinatorConfig& config) {
  const auto no = [](std::string text) { return base::Status::invalid(std::move(text)); };
  if (config.min_nodes < 1 || config.min_nodes > config.max_nodes || config.max_nodes > nodes_max) {
    return no(fmt::format("nodes {}:{}: write MIN:MAX with 1 <= MIN <= MAX <= {}", config.min_nodes,
                          config.max_nodes, nodes_max));
  }
  if (config.lease_ns < lease_ms_min * ns_per_ms || config.lease_ns > lease_ms_max * ns_per_ms ||
      config.lease_ns % ns_per_ms != 0) {
    return no(fmt::format("lease: give {} to {} whole milliseconds", lease_ms_min, lease_ms_max));
  }
  if (config.job.empty() || config.job.size() > job_bytes_max ||
      config.token.size() > token_bytes_max) {
    return no(
        fmt::format("job and token: at most {} and {} bytes", job_bytes_max, token_bytes_max));
  }
  if (config.generation_floor > generation_told_max) return no("generation floor: out of range");
  return {};
}

CoordinatorCore::CoordinatorCore(const CoordinatorConfig& config, std::int64_t now_ns)
    : config_(config), drain_(config.drain_margin_steps), changed_ns_(now_ns) {
  HW_CHECK(check_config(config).ok());
  not_before_ns_ =
      config.predecessor_possible ? now_ns + config.lease_ns + config.margin_ns : now_ns;
  if (config.ended_with) {
    state_ = RoundState::ended;
    exit_code_ = *config.ended_with;
    linger_until_ns_ = now_ns + config.linger_ns;
  }
}

void CoordinatorCore::on_open(ConnectionId connection, std::int64_t now_ns) {
  HW_CHECK(connection != 0 && !strangers_.contains(connection));
  if (strangers_.size() >= strangers_max) {
    refuse(connection, Refusal::full, "too many connections that have not said hello");
    return;
  }
  strangers_.emplace(connection, now_ns + config_.lease_ns);
  send(connection, Greet{});
}

void CoordinatorCore::on_close(ConnectionId connection, std::int64_t now_ns) {
  strangers_.erase(connection);
  Node* node = nodes_.of(connection);
  if (node == nullptr) return;
  disconnect(*node);
  settle(now_ns);
}

void CoordinatorCore::on_message(ConnectionId connection, const Message& message,
                                 std::int64_t now_ns) {
  if (Node* node = nodes_.of(connection); node != nullptr) {
    node->last_received_ns = std::max(node->last_received_ns, now_ns);
    if (const auto* ping = std::get_if<Ping>(&message); ping != nullptr) {
      send(connection, Pong{ping->id});
      return;
    }
    on_node_message(*node, message);
  } else if (strangers_.contains(connection)) {
    const auto* hello = std::get_if<Hello>(&message);
    if (hello != nullptr) {
      on_hello(connection, *hello, now_ns);
    } else {
      refuse(connection, Refusal::bad_order, fmt::format("{} before hello", name_of(message)));
    }
  }  // else we have closed it, and this was on its way
  settle(now_ns);
}

void CoordinatorCore::on_deadline(std::int64_t now_ns) {
  while (!strangers_.empty() && strangers_.begin()->second <= now_ns) {
    refuse(strangers_.begin()->first, Refusal::bad_order, "no hello in time");
  }
  expire_nodes(now_ns);
  settle(now_ns);
}

void CoordinatorCore::send(ConnectionId connection, Message message) {
  output_.sends.push_back({connection, std::move(message)});
}

void CoordinatorCore::send_round(const Message& message) {
  for (const auto& [name, node] : nodes_.all()) {
    if (node.phase == Phase::running) send(node.connection, message);
  }
}

void CoordinatorCore::refuse(ConnectionId connection, Refusal why, std::string text) {
  ++refused_;
  strangers_.erase(connection);
  send(connection, Refuse{why, may_pass(why), cut_reason(std::move(text))});
  output_.closes.push_back(connection);
}

std::optional<Refuse> CoordinatorCore::objection(ConnectionId connection, const Hello& hello) {
  const auto no = [](Refusal why, std::string text) {
    return Refuse{why, may_pass(why), std::move(text)};
  };
  if (hello.version != protocol_version) {
    return no(Refusal::version,
              fmt::format("the coordinator speaks protocol version {}, this agent {}: "
                          "install one version of Headway on all nodes",
                          protocol_version, hello.version));
  }
  if (hello.job != config_.job) {
    return no(Refusal::other_job,
              fmt::format("this is the coordinator of job {}, not of {}", config_.job, hello.job));
  }
  if (!same_token(hello.token, config_.token)) {
    return no(Refusal::wrong_token, "the job's token is another one");
  }
  if (hello.generation_seen > generation_told_max) {
    return no(Refusal::bad_order, "generation out of range");
  }
  Node* node = nodes_.find(hello.node);
  if (node != nullptr && connection < node->newest_connection) {
    return no(Refusal::bad_order, "this hello is older than the node's last one");
  }
  if (node != nullptr && node->connection != 0 && node->incarnation != hello.incarnation) {
    return no(Refusal::duplicate_node,
              fmt::format("node {} is here already: another agent has that name", hello.node));
  }
  if (hello.index) {
    if (const Node* holder = nodes_.holder_of(*hello.index, hello.node); holder != nullptr) {
      return no(Refusal::duplicate_node,
                fmt::format("index {} is that of node {} already", *hello.index, holder->name));
    }
  }
  if (nodes_.connected() >= nodes_max) return no(Refusal::full, "too many nodes");
  return std::nullopt;
}

void CoordinatorCore::on_hello(ConnectionId connection, const Hello& hello, std::int64_t now_ns) {
  if (auto refusal = objection(connection, hello)) {
    refuse(connection, refusal->why, std::move(refusal->text));
    return;
  }
  Node* node = nodes_.find(hello.node);
  if (node == nullptr) node = nodes_.add(hello.node);
  if (node == nullptr) {
    refuse(connection, Refusal::full, "too many nodes");
    return;
  }
  strangers_.erase(connection);
  if (node->connection != 0) {  // the same agent, which knows before us that the old one is dead
    output_.closes.push_back(node->connection);
    nodes_.detach(*node);
  }
  node->index = hello.index;
  nodes_.attach(*node, connection);
  node->last_received_ns = std::max(node->last_received_ns, now_ns);
  const std::int64_t expiry_ns = now_ns + config_.lease_ns;
  expiry_check_ns_ = std::min(expiry_check_ns_.value_or(expiry_ns), expiry_ns);
  generation_told_ = std::max(generation_told_, hello.generation_seen);
  admit(*node, hello, now_ns);
}

// What a hello says of the node's ranks is true: it is the newest, and was said on this connection.
void CoordinatorCore::admit(Node& node, const Hello& hello, std::int64_t now_ns) {
  const Phase before = node.phase;
  const bool in_running_round = state_ == RoundState::running && node.in_round;
  const bool of_round = in_running_round && node.incarnation == hello.incarnation &&
                        hello.generation == generation_ && before == Phase::running;
  node.incarnation = hello.incarnation;
  node.nproc = hello.nproc;
  node.address = hello.address;
  node.port = hello.port;
  if (before == Phase::absent || before == Phase::lost) changed_ns_ = now_ns;
  if (state_ == RoundState::ended) {
    nodes_.set_phase(node, Phase::idle);
    send(node.connection, Done{exit_code_});
    return;
  }
  send(node.connection, Welcome{static_cast<std::uint32_t>(config_.lease_ns / ns_per_ms)});
  if (of_round && hello.activity == Activity::running) {  // the lease held: nothing has happened
    if (drain_.active()) send(node.connection, Notice{generation_, 0});
    if (const auto word = drain_.current()) send(node.connection, to_message(*word));
    return;
  }
  if (before == Phase::finished && hello.activity != Activity::running) return;
  if (of_round && hello.activity == Activity::finished) {
    on_ranks_gone(node, hello.generation, hello.port, true);
    return;
  }
  const bool runs = hello.activity == Activity::running;
  nodes_.set_phase(node, runs ? Phase::stopping : Phase::idle);
  if (runs) {
    node.generation = hello.generation;
    send(node.connection,
         Stop{hello.generation,
              hello.generation == generation_ ? StopWhy::peer_failed : StopWhy::unknown_round});
  }
  if (in_running_round && (before == Phase::running || before == Phase::finished)) {
    note_failure({.kind = FailureKind::node_lost, .node = node.name});
    begin_stop(StopWhy::peer_failed);
  }
}

void CoordinatorCore::on_node_message(Node& node, const Message& message) {
  const auto out_of_order = [&] {
    const ConnectionId connection = node.connection;
    disconnect(node);
    refuse(connection, Refusal::bad_order,
           fmt::format("{} is not for a coordinator, or not now", name_of(message)));
  };
  std::visit(overloaded{
                 [&](const Failed& m) { on_failed(node, m); },
                 [&](const Stopped& m) { on_stopped(node, m); },
                 [&](const Finished& m) { on_ranks_gone(node, m.generation, m.port, true); },
                 [&](const Goodbye&) { leave(node); },
                 [&](const Notice& m) { on_notice(m); },
                 [&](const Boundary& m) { on_drain_answer(node, m); },
                 [&](const Accept& m) { on_drain_answer(node, m); },
                 [&](const Raise& m) { on_drain_answer(node, m); },
                 [&](const auto&) { out_of_order(); },
             },
             message);
}

void CoordinatorCore::on_failed(Node& node, const Failed& failed) {
  if (failed.generation != generation_ || node.generation != generation_) return;
  const bool first = node.phase == Phase::running;
  // A rank that dies while a stop for newcomers is on its way died of that stop.
  const bool casualty = !first && failures_total_ == 0;
  if (casualty || (!first && node.phase != Phase::stopping)) return;
  note_failure({.kind = FailureKind::rank_failed,
                .node = node.name,
                .rank = failed.rank,
                .exit_code = failed.exit_code,
                .signal = failed.signal});
  if (!first) return;
  nodes_.set_phase(node, Phase::stopping);  // of itself: it needs no order
  begin_stop(StopWhy::peer_failed);
}

void CoordinatorCore::on_stopped(Node& node, const Stopped& stopped) {
  on_ranks_gone(node, stopped.generation, stopped.port, false);
  if (stopped.generation != generation_ || !node.in_round) return;
  progressed_ = progressed_ || stopped.account.progressed;
  for (Failure& failure : failures_) {
    if (failure.node == node.name) failure.account = stopped.account;
  }
}

void CoordinatorCore::on_ranks_gone(Node& node, std::uint64_t generation, std::uint16_t port,
                                    bool finished) {
  const bool running = node.phase == Phase::running;
  if (generation != node.generation || (!running && node.phase != Phase::stopping)) return;
  node.port = port;
  if (running && finished) {
    nodes_.set_phase(node, Phase::finished);
    tell(drain_.on_finished(node.node_rank));
    return;
  }
  nodes_.set_phase(node, Phase::idle);
  if (!running) return;
  note_failure({.kind = FailureKind::node_left, .node = node.name});
  begin_stop(StopWhy::peer_failed);
}

void CoordinatorCore::on_notice(const Notice& notice) {
  if (notice.generation != generation_ || state_ != RoundState::running) return;
  if (nodes_.count(Phase::finished) > 0) return;  // the job ends by itself
  if (drain_.begin(round_nodes_)) send_round(notice);
}

template <typename Answer>
void CoordinatorCore::on_drain_answer(Node& node, const Answer& answer) {
  if (answer.generation != generation_ || node.phase != Phase::running) return;
  if constexpr (std::is_same_v<Answer, Boundary>) {
    tell(drain_.on_boundary(node.node_rank, answer.step));
  } else if constexpr (std::is_same_v<Answer, Accept>) {
    tell(drain_.on_accept(node.node_rank, answer.step));
  } else {
    tell(drain_.on_raise(node.node_rank, answer.step));
  }
}

Message CoordinatorCore::to_message(const DrainCore::Word::value_type& word) const {
  return std::visit(
      overloaded{
          [&](const DrainCore::ProposeStep& w) -> Message { return Propose{generation_, w.step}; },
          [&](const DrainCore::FinalStep& w) -> Message { return Final{generation_, w.step}; },
      },
      word);
}

void CoordinatorCore::tell(const DrainCore::Word& word) {
  if (word) send_round(to_message(*word));
}

}  // namespace headway::cluster
