#include "cluster/member_core.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cluster/address.h"
#include "cluster/limits.h"
#include "cluster/overloaded.h"

namespace headway::cluster {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t pings_per_lease = 5;

}  // namespace

base::Status check_config(const MemberConfig& config) {
  const auto no = [](const char* field, std::size_t max) {
    return base::Status::invalid(fmt::format("{}: give 1 to {} bytes", field, max));
  };
  if (config.node.empty() || config.node.size() > node_bytes_max) return no("node", node_bytes_max);
  if (config.job.empty() || config.job.size() > job_bytes_max) return no("job", job_bytes_max);
  if (config.token.size() > token_bytes_max) return no("token", token_bytes_max);
  if (config.address.size() > address_bytes_max) return no("address", address_bytes_max);
  if (config.nproc < 1 || config.nproc > nproc_max) {
    return base::Status::invalid(fmt::format("nproc: give 1 to {}", nproc_max));
  }
  return {};
}

MemberCore::MemberCore(const MemberConfig& config, std::uint16_t port, std::int64_t now_ns)
    : config_(config),
      back_off_(config.retry_shortest_ns, config.retry_longest_ns, config.incarnation),
      generation_seen_(config.generation_seen),
      port_(port),
      link_deadline_ns_(now_ns),
      unjoined_since_ns_(now_ns) {
  HW_CHECK(check_config(config).ok() && port != 0);
}

void MemberCore::on_connected(const std::string& own_address, const std::string& peer_address,
                              std::int64_t) {
  HW_CHECK(link_ == LinkState::dialling);
  link_ = LinkState::greeting;
  own_address_ = config_.address.empty() ? own_address : config_.address;
  peer_address_ = peer_address;
}

void MemberCore::on_disconnected(std::int64_t now_ns) {
  if (link_ == LinkState::over) return;
  if (link_ == LinkState::joined) unjoined_since_ns_ = now_ns;
  wait_to_dial(now_ns);
}

void MemberCore::on_message(const Message& message, std::int64_t now_ns) {
  if (link_ != LinkState::greeting && link_ != LinkState::joined) return;
  if (std::holds_alternative<Greet>(message)) return on_greet(now_ns);
  if (const auto* refuse = std::get_if<Refuse>(&message)) return on_refuse(*refuse, now_ns);
  if (const auto* done = std::get_if<Done>(&message)) return on_done(*done);
  if (const auto* welcome = std::get_if<Welcome>(&message)) return on_welcome(*welcome, now_ns);
  if (link_ != LinkState::joined) return hang_up(now_ns);
  std::visit(overloaded{
                 [&](const Pong& m) { on_pong(m); },
                 [&](const Start& m) { on_start(m, now_ns); },
                 [&](const Stop& m) { on_stop(m); },
                 [&](const Notice& m) {
                   if (trains(m.generation)) output_.orders.emplace_back(AskBoundary{m.grace_ms});
                 },
                 [&](const Propose& m) {
                   if (trains(m.generation)) output_.orders.emplace_back(HoldAt{m.step});
                 },
                 [&](const Final& m) {
                   if (trains(m.generation)) output_.orders.emplace_back(StopAfter{m.step});
                 },
                 [&](const auto&) { hang_up(now_ns); },
             },
             message);
}

void MemberCore::on_deadline(std::int64_t now_ns) {
  if (link_ == LinkState::over) return;
  if (lease_ns_ > 0 && now_ns >= lease_until_ns_) {
    lease_ns_ = 0;
    kill_ranks();
    if (link_ == LinkState::joined) hang_up(now_ns);
  }
  if (link_ != LinkState::joined && now_ns >= unjoined_since_ns_ + config_.give_up_after_ns) {
    give_up(fmt::format("no coordinator for {} s{}{}", config_.give_up_after_ns / 1'000'000'000,
                        last_refusal_.empty() ? "" : "; it last said: ", last_refusal_));
    return;
  }
  if (link_ == LinkState::joined) {
    if (now_ns >= next_ping_ns_) ping(now_ns);
  } else if (now_ns >= link_deadline_ns_) {
    if (link_ != LinkState::waiting) {
      hang_up(now_ns);
      return;
    }
    link_ = LinkState::dialling;
    link_deadline_ns_ = now_ns + config_.greeting_timeout_ns;
    output_.dial = true;
  }
}

// Whatever version it speaks: if it is not ours, it refuses our hello with its reason.
void MemberCore::on_greet(std::int64_t now_ns) {
  if (link_ != LinkState::greeting || hello_sent_ns_) return hang_up(now_ns);
  say_hello(now_ns);
}

void MemberCore::say_hello(std::int64_t now_ns) {
  hello_sent_ns_ = now_ns;
  told_running_ = has_ranks();
  send(Hello{.job = config_.job,
             .token = config_.token,
             .node = config_.node,
             .incarnation = config_.incarnation,
             .index = config_.index,
             .nproc = config_.nproc,
             .generation_seen = generation_seen_,
             .activity = has_ranks()                 ? Activity::running
                         : ranks_ == Ranks::finished ? Activity::finished
                                                     : Activity::idle,
             .generation = generation_,
             .port = has_ranks() ? std::uint16_t{0} : port_,
             .address = own_address_});
}

void MemberCore::on_welcome(const Welcome& welcome, std::int64_t now_ns) {
  if (link_ != LinkState::greeting || !hello_sent_ns_) return hang_up(now_ns);
  link_ = LinkState::joined;
  back_off_.reset();
  last_refusal_.clear();
  pings_.clear();
  lease_ns_ = welcome.lease_ms * ns_per_ms;
  lease_until_ns_ = *hello_sent_ns_ + lease_ns_;  // a hello is as good as a ping
  ping(now_ns);
  // What happened since the hello, or was perhaps lost with the connection before.
  if (failure_) send(*failure_);
  if (notice_ && trains(notice_->generation)) send(*notice_);
  if (!told_running_ || has_ranks()) return;
  told_running_ = false;
  if (ranks_ == Ranks::finished) {
    send(Finished{generation_, port_});
  } else {
    send(Stopped{generation_, port_, account_});
  }
}

void MemberCore::on_refuse(const Refuse& refuse, std::int64_t now_ns) {
  if (refuse.retry) {
    last_refusal_ = refuse.text;
    return hang_up(now_ns);
  }
  kill_ranks();
  give_up(fmt::format("the coordinator refused this node: {}", refuse.text));
}

void MemberCore::on_pong(const Pong& pong) {
  while (!pings_.empty() && pings_.front().id <= pong.id) {
    if (pings_.front().id == pong.id) lease_until_ns_ = pings_.front().sent_ns + lease_ns_;
    pings_.pop_front();
  }
}

void MemberCore::on_start(const Start& start, std::int64_t now_ns) {
  const bool in_place = start.rank_offset + std::uint64_t{config_.nproc} <= start.world_size;
  // The lease may have run out in the meantime, though nobody has looked at the clock yet. All of
  // these are cured by a new hello, which tells the coordinator where we are.
  if (has_ranks() || start.generation <= generation_seen_ || now_ns >= lease_until_ns_ ||
      !in_place) {
    return hang_up(now_ns);
  }
  generation_ = generation_seen_ = start.generation;
  rank_offset_ = start.rank_offset;
  ranks_ = Ranks::running;
  told_running_ = true;
  failure_.reset();
  notice_.reset();
  // A loopback address is that of a node on the coordinator's own machine.
  const bool is_local = is_loopback(start.master_addr);
  output_.orders.emplace_back(
      StartRanks{.generation = start.generation,
                 .node_rank = start.node_rank,
                 .nodes = start.nodes,
                 .rank_offset = start.rank_offset,
                 .world_size = start.world_size,
                 .nproc = config_.nproc,
                 .restart_count = start.restart_count,
                 .master_addr = is_local ? peer_address_ : start.master_addr,
                 .master_port = start.master_port,
                 .setting = start.setting});
}

void MemberCore::on_stop(const Stop& stop) {
  if (stop.generation != generation_ || ranks_ != Ranks::running) return;
  ranks_ = Ranks::stopping;
  output_.orders.emplace_back(StopRanks{stop.why});
}

void MemberCore::on_done(const Done& done) {
  kill_ranks();
  output_.orders.emplace_back(JobDone{done.exit_code});
  send(Goodbye{});
  output_.hang_up = true;
  link_ = LinkState::over;
}

void MemberCore::kill_ranks() {
  if (!has_ranks() || ranks_ == Ranks::killing) return;
  ranks_ = Ranks::killing;
  output_.orders.emplace_back(KillRanks{});
}

void MemberCore::give_up(std::string reason) {
  output_.orders.emplace_back(GiveUp{std::move(reason)});
  output_.hang_up = output_.hang_up || link_ == LinkState::greeting || link_ == LinkState::joined;
  output_.dial = false;
  link_ = LinkState::over;
}

void MemberCore::hang_up(std::int64_t now_ns) {
  output_.hang_up = true;
  output_.dial = false;
  on_disconnected(now_ns);
}

void MemberCore::wait_to_dial(std::int64_t now_ns) {
  link_ = LinkState::waiting;
  hello_sent_ns_.reset();
  pings_.clear();
  link_deadline_ns_ = now_ns + back_off_.next_ns();
}

void MemberCore::ping(std::int64_t now_ns) {
  next_ping_ns_ = now_ns + lease_ns_ / pings_per_lease;
  if (pings_.size() == pings_max) pings_.pop_front();
  pings_.push_back({next_ping_id_, now_ns});
  send(Ping{next_ping_id_++});
}

void MemberCore::rank_failed(std::uint32_t local_rank, int exit_code, int signal, std::int64_t) {
  HW_CHECK(local_rank < config_.nproc);
  if (ranks_ != Ranks::running) return;  // a casualty of a stop that we ordered
  ranks_ = Ranks::failing;
  failure_ = Failed{.generation = generation_,
                    .rank = rank_offset_ + local_rank,
                    .exit_code = exit_code,
                    .signal = static_cast<std::uint8_t>(signal)};
  if (joined()) send(*failure_);
}

void MemberCore::ranks_stopped(std::uint16_t port, std::int64_t, Account account) {
  HW_CHECK(has_ranks() && port != 0);
  ranks_ = Ranks::none;
  port_ = port;
  account_ = std::move(account);
  if (!joined() || !told_running_) return;
  told_running_ = false;
  send(Stopped{generation_, port_, account_});
}

void MemberCore::finished(std::uint16_t port, std::int64_t now_ns) {
  if (ranks_ != Ranks::running) return ranks_stopped(port, now_ns);
  HW_CHECK(port != 0);
  ranks_ = Ranks::finished;
  port_ = port;
  if (!joined()) return;
  told_running_ = false;
  send(Finished{generation_, port_});
}

void MemberCore::notice(std::uint32_t grace_ms, std::int64_t) {
  if (ranks_ != Ranks::running || notice_) return;
  notice_ = Notice{generation_, grace_ms};
  if (joined()) send(*notice_);
}

void MemberCore::boundary(std::uint64_t step, std::int64_t) {
  if (joined() && ranks_ == Ranks::running) send(Boundary{generation_, step});
}

void MemberCore::held(std::uint64_t step, std::int64_t) {
  if (joined() && ranks_ == Ranks::running) send(Accept{generation_, step});
}

void MemberCore::beyond(std::uint64_t step, std::int64_t) {
  if (joined() && ranks_ == Ranks::running) send(Raise{generation_, step});
}

void MemberCore::leave(std::int64_t) {
  HW_CHECK(!has_ranks());
  if (joined()) send(Goodbye{});
  output_.hang_up = link_ == LinkState::greeting || link_ == LinkState::joined;
  output_.dial = false;
  link_ = LinkState::over;
}

std::optional<std::int64_t> MemberCore::deadline_ns() const {
  if (link_ == LinkState::over) return {};
  std::int64_t next_ns =
      joined() ? next_ping_ns_
               : std::min(link_deadline_ns_, unjoined_since_ns_ + config_.give_up_after_ns);
  if (lease_ns_ > 0) next_ns = std::min(next_ns, lease_until_ns_);
  return next_ns;
}

}  // namespace headway::cluster
