#include "agent/cluster_seat.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "cluster/overloaded.h"

namespace headway::agent {
namespace {

using base::Status;
using cluster::overloaded;

// What the kill of ranks and clocks that differ may cost.
constexpr std::int64_t kMarginMinNs = 500'000'000;
constexpr std::int64_t kMarginMaxNs = 1'000'000'000;

cluster::CoordinatorConfig coordinator_config(const NodePlan& plan, const SeatMemory& memory) {
  cluster::CoordinatorConfig config;
  config.job = memory.job;
  config.token = plan.token;
  config.min_nodes = plan.count.min;
  config.max_nodes = plan.count.max;
  config.lease_ns = plan.lease_ns;
  config.margin_ns = std::clamp(plan.lease_ns / 2, kMarginMinNs, kMarginMaxNs);
  config.last_call_ns = plan.lease_ns;
  config.generation_floor = memory.generation_floor;
  config.predecessor_possible = !memory.first_ever;
  return config;
}

cluster::MemberConfig member_config(const NodePlan& plan, const SeatMemory& memory) {
  std::random_device random;
  cluster::MemberConfig config;
  config.job = memory.job;
  config.token = plan.token;
  config.node = plan.name;
  config.incarnation = std::uint64_t{random()} << 32 | random();
  config.index = plan.index;
  config.nproc = memory.nproc;
  config.generation_seen = memory.generation_seen;
  return config;
}

bool watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

base::Result<std::unique_ptr<ClusterSeat>> ClusterSeat::open(const NodePlan& plan,
                                                             const SeatMemory& memory,
                                                             std::uint16_t reserved_port,
                                                             Decider decider) {
  auto seat = std::unique_ptr<ClusterSeat>(new ClusterSeat());
  seat->decider_ = std::move(decider);
  seat->nodes_min_ = plan.count.min;
  seat->poll_ = base::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  const Endpoint& place = plan.meeting_place;
  seat->meeting_place_ = fmt::format("{}:{}", place.host, place.port);
  // Where the address is not ours (a name of a service), we reach ourselves in a shorter way.
  const std::string host =
      plan.coordinates && !plan.owns_address ? std::string("127.0.0.1") : place.host;
  if (plan.coordinates) {
    auto coordinator =
        cluster::Coordinator::create(coordinator_config(plan, memory), "", place.port);
    if (!coordinator.ok()) return coordinator.status();
    seat->coordinator_ = std::move(*coordinator);
  }
  auto member =
      cluster::Member::create(member_config(plan, memory), host, place.port, reserved_port);
  if (!member.ok()) return member.status();
  seat->member_ = std::move(*member);
  if (!seat->poll_.valid() || !watch(seat->poll_.get(), seat->member_->fd()) ||
      (seat->coordinator_ && !watch(seat->poll_.get(), seat->coordinator_->fd()))) {
    return base::errno_status("epoll", "cannot watch the other nodes", errno);
  }
  return seat;
}

Companion::Wish ClusterSeat::serve() {
  if (coordinator_) {
    coordinator_->serve();
    if (const auto decide = coordinator_->take_decide()) coordinator_->decide(decider_(*decide));
  }
  member_->serve();
  take_orders();
  return wish_;
}

void ClusterSeat::take_orders() {
  for (cluster::Order& order : member_->take_orders()) {
    std::visit(overloaded{
                   [&](cluster::StartRanks& o) { start(std::move(o)); },
                   [&](const cluster::StopRanks& o) {
                     wish_ = std::max(wish_, Wish::stop);
                     for_newcomers_ = o.why == cluster::StopWhy::membership;
                   },
                   [&](const cluster::KillRanks&) { wish_ = Wish::kill; },
                   [&](const cluster::JobDone& o) { done_ = o.exit_code; },
                   [&](const cluster::GiveUp& o) { gave_up_ = o.reason; },
                   [&](const cluster::AskBoundary&) { tell_boundary(); },
                   [&](const cluster::HoldAt& o) { hold_at(o.step); },
                   [&](const cluster::StopAfter& o) { stop_after(o.step); },
               },
               order);
  }
}

void ClusterSeat::start(cluster::StartRanks order) {
  start_ = std::move(order);
  for_newcomers_ = last_step_asked_ = last_step_held_ = false;
  last_step_.reset();
}

// ---- the agreement on a last step (cluster/drain_core.h)

void ClusterSeat::use_board(record::Board* board) {
  board_ = board;
  if (board_ != nullptr && last_step_asked_) tell_boundary();  // asked before the ranks were there
}

void ClusterSeat::ask_for_last_step() {
  member_->notice(0);
}

// Ranks that have never asked are before every step.
void ClusterSeat::tell_boundary() {
  last_step_asked_ = true;
  if (board_ == nullptr) return;
  const std::int64_t latest = board_->latest().value_or(0);
  member_->boundary(static_cast<std::uint64_t>(std::max<std::int64_t>(latest, 0)));
}

void ClusterSeat::hold_at(std::uint64_t step) {
  if (board_ == nullptr || last_step_) return;
  last_step_held_ = board_->propose(static_cast<std::int64_t>(step));
  if (last_step_held_) {
    member_->held(step);
  } else {
    member_->beyond(static_cast<std::uint64_t>(board_->latest().value_or(0)));
  }
}

void ClusterSeat::stop_after(std::uint64_t step) {
  if (board_ == nullptr || last_step_ || !last_step_held_) return;
  board_->decide();
  last_step_ = static_cast<std::int64_t>(step);
}

// ---- ends

void ClusterSeat::on_rank_failed(int index, const RankEnd& end) {
  member_->rank_failed(static_cast<std::uint32_t>(index), end.exit_code, end.signal);
}

void ClusterSeat::ranks_stopped(std::uint16_t port, cluster::Account account) {
  wish_ = Wish::none;
  member_->ranks_stopped(port, std::move(account));
}

void ClusterSeat::finished(std::uint16_t port) {
  wish_ = Wish::none;
  member_->finished(port);
}

void ClusterSeat::use_setting(std::string setting) {
  if (coordinator_) coordinator_->use_setting(std::move(setting));
}

void ClusterSeat::leave(int exit_code) {
  if (coordinator_) {
    coordinator_->request_end(exit_code);
  } else {
    member_->leave();
  }
}

std::string ClusterSeat::trouble() const {
  if (member_->over()) return {};
  if (!member_->joined()) {
    return member_->trouble().empty() ? fmt::format("no answer from {} yet", meeting_place_)
                                      : member_->trouble();
  }
  if (!coordinator_) return "the first node knows of this one, but not yet of enough";
  const cluster::CoordinatorStatus status = coordinator_->status();
  if (status.state != cluster::RoundState::gathering || status.nodes_idle >= nodes_min_) return {};
  return fmt::format("{} of {} nodes are here", status.nodes_idle, nodes_min_);
}

}  // namespace headway::agent
