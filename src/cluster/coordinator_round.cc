// The coordinator's rounds: when one starts, why it stops, when the job ends. Messages are taken
// apart in coordinator_core.cc.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "cluster/coordinator_core.h"

namespace headway::cluster {

// The end of a connection proves nothing about ranks; the lease does.
void CoordinatorCore::disconnect(Node& node) {
  nodes_.detach(node);
  changed_ns_ = std::max(changed_ns_, node.last_received_ns);
  switch (node.phase) {
    case Phase::idle:
      // After the end, `finished` is: has not said that it knows.
      nodes_.set_phase(node, state_ == RoundState::ended ? Phase::finished : Phase::absent);
      break;
    case Phase::running:
      nodes_.set_phase(node, Phase::lost);
      note_failure({.kind = FailureKind::node_lost, .node = node.name});
      begin_stop(StopWhy::peer_failed);
      break;
    case Phase::stopping:
      nodes_.set_phase(node, Phase::lost);
      break;
    case Phase::finished:
    case Phase::absent:  // these two have no connection to lose
    case Phase::lost:
      break;
  }
  if (node.phase != Phase::lost) return;
  const std::int64_t expiry_ns = node.last_received_ns + config_.lease_ns + config_.margin_ns;
  expiry_check_ns_ = std::min(expiry_check_ns_.value_or(expiry_ns), expiry_ns);
}

// A goodbye: no rank of the node is left.
void CoordinatorCore::leave(Node& node) {
  output_.closes.push_back(node.connection);
  nodes_.detach(node);
  changed_ns_ = std::max(changed_ns_, node.last_received_ns);
  node.left = true;
  const Phase before = node.phase;
  if (before == Phase::finished && state_ == RoundState::running) return;
  nodes_.set_phase(node, Phase::absent);
  if (before != Phase::running) return;
  note_failure({.kind = FailureKind::node_left, .node = node.name});
  begin_stop(StopWhy::peer_failed);
}

void CoordinatorCore::note_failure(Failure failure) {
  ++failures_total_;
  if (failures_.size() < Decide::failures_max) failures_.push_back(std::move(failure));
}

void CoordinatorCore::begin_stop(StopWhy why) {
  if (state_ != RoundState::running) return;
  state_ = RoundState::stopping;
  drain_.reset();
  for (auto& [name, node] : nodes_.all()) {
    if (node.phase == Phase::running) {
      send(node.connection, Stop{generation_, why});
      nodes_.set_phase(node, Phase::stopping);
    } else if (node.phase == Phase::finished) {
      nodes_.set_phase(node, node.connection != 0 ? Phase::idle : Phase::absent);
    }
  }
}

// A node that is silent for a lease is disconnected: its own lease has run out by now. After the
// margin its ranks are taken for dead.
void CoordinatorCore::expire_nodes(std::int64_t now_ns) {
  if (!expiry_check_ns_ || now_ns < *expiry_check_ns_) return;
  expiry_check_ns_.reset();
  std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
  for (auto& [name, node] : nodes_.all()) {
    const std::int64_t silent_ns = node.last_received_ns + config_.lease_ns;
    if (node.connection != 0 && now_ns >= silent_ns) {
      output_.closes.push_back(node.connection);
      disconnect(node);
    }
    if (node.connection != 0) next_ns = std::min(next_ns, silent_ns);
    if (node.phase != Phase::lost) continue;
    const std::int64_t gone_ns = silent_ns + config_.margin_ns;
    if (now_ns >= gone_ns) {
      nodes_.set_phase(node, Phase::absent);
    } else {
      next_ns = std::min(next_ns, gone_ns);
    }
  }
  expiry_check_ns_.reset();
  if (next_ns != std::numeric_limits<std::int64_t>::max()) expiry_check_ns_ = next_ns;
}

void CoordinatorCore::settle(std::int64_t now_ns) {
  for (;;) {
    const RoundState before = state_;
    switch (state_) {
      case RoundState::gathering:
        gather(now_ns);
        break;
      case RoundState::running:
        if (nodes_.count(Phase::finished) == round_nodes_) {
          complete(now_ns);
        } else if (const auto at_ns = rejoin_at_ns(); at_ns && now_ns >= *at_ns) {
          rejoined_ns_ = now_ns;
          begin_stop(StopWhy::membership);
        }
        break;
      case RoundState::stopping:
        if (nodes_.with_ranks() == 0) after_stop(now_ns);
        break;
      case RoundState::deciding:
        if (end_requested_) end(*end_requested_, now_ns);
        break;
      case RoundState::ended: {
        const bool all_told = nodes_.count(Phase::idle) + nodes_.count(Phase::finished) == 0;
        over_ = now_ns >= linger_until_ns_ || (all_told && !config_.ended_with);
        break;
      }
    }
    if (state_ == before) return;
  }
}

void CoordinatorCore::after_stop(std::int64_t now_ns) {
  if (end_requested_) {
    end(*end_requested_, now_ns);
  } else if (failures_total_ > 0) {
    decide(false);
  } else {
    state_ = RoundState::gathering;
  }
}

void CoordinatorCore::complete(std::int64_t now_ns) {
  if (end_requested_ || !drain_.agreed()) {
    end(end_requested_.value_or(0), now_ns);
    return;
  }
  begin_stop(StopWhy::job_ends);  // nobody runs: it makes all of them idle
  decide(true);
}

void CoordinatorCore::decide(bool drained) {
  state_ = RoundState::deciding;
  output_.decide = Decide{.generation = generation_,
                          .failures = failures_,
                          .failures_total = failures_total_,
                          .restarts = restarts_,
                          .progressed = progressed_,
                          .drained = drained};
}

void CoordinatorCore::on_decision(const Decision& decision, std::int64_t now_ns) {
  if (state_ != RoundState::deciding) return;  // the end was asked for meanwhile
  HW_CHECK(decision.delay_ns >= 0);
  if (decision.restart) {
    ++restarts_;
    not_before_ns_ = std::max(not_before_ns_, now_ns + decision.delay_ns);
    state_ = RoundState::gathering;
  } else {
    end(decision.exit_code, now_ns);
  }
  settle(now_ns);
}

void CoordinatorCore::request_end(int exit_code, std::int64_t now_ns) {
  if (!end_requested_) end_requested_ = exit_code;
  // After an agreement on a last step the others end by themselves, and may be saving.
  if (!drain_.agreed()) begin_stop(StopWhy::job_ends);
  settle(now_ns);
}

void CoordinatorCore::end(int exit_code, std::int64_t now_ns) {
  state_ = RoundState::ended;
  exit_code_ = exit_code;
  output_.ended = exit_code;
  linger_until_ns_ = now_ns + config_.linger_ns;
  for (auto& [name, node] : nodes_.all()) {
    if (node.left) nodes_.set_phase(node, Phase::absent);  // it does not wait to be told
    if (node.connection == 0) continue;
    send(node.connection, Done{exit_code});
    nodes_.set_phase(node, Phase::idle);
  }
}

void CoordinatorCore::gather(std::int64_t now_ns) {
  if (end_requested_) {
    end(*end_requested_, now_ns);
    return;
  }
  if (nodes_.count(Phase::idle) < config_.min_nodes) {
    enough_since_ns_.reset();
  } else if (!enough_since_ns_) {
    enough_since_ns_ = now_ns;
  }
  if (const auto at_ns = start_at_ns(); at_ns && now_ns >= *at_ns) start_round(now_ns);
}

std::optional<std::int64_t> CoordinatorCore::start_at_ns() const {
  if (state_ != RoundState::gathering || !enough_since_ns_ || nodes_.with_ranks() > 0) return {};
  if (nodes_.count(Phase::idle) >= config_.max_nodes) return not_before_ns_;
  const std::int64_t last_call_ns =
      std::min(changed_ns_ + config_.last_call_ns, *enough_since_ns_ + config_.last_call_total_ns);
  return std::max(not_before_ns_, last_call_ns);
}

// Newcomers are waited for as at a start, but while the round goes on.
std::optional<std::int64_t> CoordinatorCore::rejoin_at_ns() const {
  const std::size_t spare = nodes_.count(Phase::idle);
  if (state_ != RoundState::running || !config_.rejoin || spare == 0) return {};
  if (round_nodes_ >= config_.max_nodes) return {};
  if (nodes_.count(Phase::finished) > 0 || drain_.active()) return {};  // it ends by itself
  std::int64_t at_ns = rejoined_ns_ ? *rejoined_ns_ + config_.rejoin_min_interval_ns
                                    : std::numeric_limits<std::int64_t>::min();
  if (round_nodes_ + spare < config_.max_nodes) {
    at_ns = std::max(at_ns, changed_ns_ + config_.last_call_ns);
  }
  return at_ns;
}

void CoordinatorCore::use_setting(std::string setting) {
  HW_CHECK(setting.size() <= setting_bytes_max);
  setting_ = std::move(setting);
}

void CoordinatorCore::start_round(std::int64_t now_ns) {
  const std::vector<Node*> chosen = nodes_.choose(config_.max_nodes);
  HW_CHECK(chosen.size() >= config_.min_nodes && chosen.size() <= config_.max_nodes);
  HW_CHECK(nodes_.with_ranks() == 0 && now_ns >= not_before_ns_);
  generation_ = std::max({generation_, generation_told_, config_.generation_floor}) + 1;
  HW_CHECK(generation_ <= generation_max);
  round_nodes_ = static_cast<std::uint32_t>(chosen.size());
  state_ = RoundState::running;
  enough_since_ns_.reset();
  failures_.clear();
  failures_total_ = 0;
  progressed_ = false;
  drain_.reset();
  for (auto& [name, node] : nodes_.all()) node.in_round = false;
  Start start{.generation = generation_,
              .nodes = round_nodes_,
              .world_size = 0,
              .restart_count = restarts_,
              .master_port = chosen.front()->port,
              .master_addr = chosen.front()->address,
              .setting = setting_};
  for (const Node* node : chosen) start.world_size += node->nproc;
  for (Node* node : chosen) {
    node->in_round = true;
    node->generation = generation_;
    node->node_rank = start.node_rank;
    nodes_.set_phase(*node, Phase::running);
    send(node->connection, start);
    ++start.node_rank;
    start.rank_offset += node->nproc;
  }
}

std::optional<std::int64_t> CoordinatorCore::deadline_ns() const {
  if (over_) return {};
  std::optional<std::int64_t> next_ns = expiry_check_ns_;
  const auto consider = [&](std::optional<std::int64_t> at_ns) {
    if (at_ns) next_ns = std::min(next_ns.value_or(*at_ns), *at_ns);
  };
  if (!strangers_.empty()) consider(strangers_.begin()->second);
  consider(start_at_ns());
  consider(rejoin_at_ns());
  if (state_ == RoundState::ended) consider(linger_until_ns_);
  return next_ns;
}

CoordinatorStatus CoordinatorCore::status() const {
  return {.state = state_,
          .generation = generation_,
          .nodes_connected = nodes_.connected(),
          .nodes_idle = nodes_.count(Phase::idle),
          .nodes_lost = nodes_.count(Phase::lost),
          .refused = refused_};
}

}  // namespace headway::cluster
