// This node's seat among the agents of its job: the member that follows the coordinator, and on one
// node the coordinator itself, behind one descriptor. The supervisor serves it while ranks run,
// node_run.cc between rounds. Main thread only; nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/companion.h"
#include "agent/nodes.h"
#include "base/file.h"
#include "base/status.h"
#include "cluster/coordinator.h"
#include "cluster/member.h"

namespace headway::agent {

// What the seat's node remembers of the job.
struct SeatMemory {
  std::string job;
  std::uint32_t nproc = 1;
  std::uint64_t generation_seen = 0;
  std::uint64_t generation_floor = 0;  // of the coordinator
  bool first_ever = false;             // nobody can have coordinated this job before
};

class ClusterSeat final : public Companion {
 public:
  // Called when the coordinator here has to decide about a round that failed.
  using Decider = std::function<cluster::Decision(const cluster::Decide&)>;

  static base::Result<std::unique_ptr<ClusterSeat>> open(const NodePlan& plan,
                                                         const SeatMemory& memory,
                                                         std::uint16_t reserved_port,
                                                         Decider decider);

  [[nodiscard]] int fd() const override { return poll_.get(); }
  Wish serve() override;
  void on_rank_failed(int index, const RankEnd& end) override;
  [[nodiscard]] std::optional<std::int64_t> lease_until_ns() const override {
    return member_->lease_until_ns();
  }
  void use_board(record::Board* board) override;
  void ask_for_last_step() override;
  [[nodiscard]] bool last_step_asked() const override { return last_step_asked_; }
  [[nodiscard]] std::optional<std::int64_t> last_step() const override { return last_step_; }

  // At the coordinator's: what the ranks of later rounds are told, on all nodes.
  void use_setting(std::string setting);

  // The round's ranks are gone. `port`: newly reserved.
  void ranks_stopped(std::uint16_t port, cluster::Account account);
  void finished(std::uint16_t port);
  // This node takes no further part, and has no ranks. At the coordinator's the job ends with it.
  void leave(int exit_code);

  [[nodiscard]] std::optional<cluster::StartRanks> take_start() {
    return std::exchange(start_, {});
  }
  // The round that ends was stopped only because there are more nodes now.
  [[nodiscard]] bool stopped_for_newcomers() const { return for_newcomers_; }
  [[nodiscard]] std::optional<int> exit_code() const { return done_; }  // the job is over
  [[nodiscard]] const std::string& gave_up() const { return gave_up_; }
  // Nobody needs us any more.
  [[nodiscard]] bool over() const {
    return member_->over() && (!coordinator_ || coordinator_->over());
  }
  [[nodiscard]] bool coordinates() const { return coordinator_ != nullptr; }
  // For a person who waits; empty when there is nothing to say.
  [[nodiscard]] std::string trouble() const;

 private:
  ClusterSeat() = default;
  void take_orders();
  void start(cluster::StartRanks order);
  void tell_boundary();
  void hold_at(std::uint64_t step);
  void stop_after(std::uint64_t step);

  base::UniqueFd poll_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::unique_ptr<cluster::Member> member_;
  Decider decider_;
  std::string meeting_place_;
  std::uint32_t nodes_min_ = 1;
  std::optional<cluster::StartRanks> start_;
  Wish wish_ = Wish::none;
  record::Board* board_ = nullptr;
  bool for_newcomers_ = false;  // the next four: of the round that runs
  bool last_step_asked_ = false;
  bool last_step_held_ = false;
  std::optional<std::int64_t> last_step_;
  std::optional<int> done_;
  std::string gave_up_;
};

}  // namespace headway::agent
