#include "agent/node_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "agent/attempt_runner.h"
#include "agent/cluster_decision.h"
#include "agent/cluster_seat.h"
#include "agent/exit_code.h"
#include "agent/own_verdict.h"
#include "agent/port.h"
#include "base/clock.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

using base::Code;
using base::Result;
using base::Status;

// So long nothing is said of what we wait for.
constexpr std::int64_t kPatienceNs = 2'000'000'000;

class NodeRun {
 public:
  NodeRun(const RunOptions& options, const NodePlan& plan, Environment environment,
          std::vector<std::string> argv, std::int64_t began_monotonic_ns)
      : options_(options),
        plan_(plan),
        runner_(options, std::move(environment), std::move(argv), began_monotonic_ns,
                NodeSeat{plan.name, plan.coordinates}) {}

  int run();

 private:
  Status take_seat();
  int follow();
  int leave();
  void tell_trouble();
  [[nodiscard]] int stop_signal();
  Status run_round(const cluster::StartRanks& start);
  void on_ended(AttemptResult&& result, std::int64_t lasted_ns);
  void on_stopped(const Outcome& outcome);
  cluster::Decision decide(const cluster::Decide& decide);
  void keep_for_others(Remains&& remains);
  void propose_setting();
  int finish(int exit_code, bool job_ends);

  const RunOptions& options_;
  const NodePlan& plan_;
  AttemptRunner runner_;
  ReservedPort port_;  // of the next rendezvous, or of the one that runs
  std::unique_ptr<ClusterSeat> seat_;
  std::optional<Verdict> stopped_;     // somebody asked us to stop: how that ended
  std::optional<Remains> for_others_;  // of a round that another node ended
  std::string trouble_;                // told last
  std::int64_t waits_since_ns_ = 0;
  bool ended_orderly_ = false;  // the last round: nothing failed
  int orderly_restarts_ = 0;    // rounds that followed such a one
};

int NodeRun::run() {
  Status status = runner_.start();
  if (status.ok()) {
    runner_.warm_up();  // before the others count on us, and while they are waited for
    status = take_seat();
  }
  if (status.ok()) return follow();
  runner_.console().warn(status.message());
  return status.code() == Code::invalid_input ? kExitUsage : kExitAgentFault;
}

// The attempt's id is the generation: the coordinator's host knows where the job's ids stand, the
// others tell what they have seen, and so all nodes have the same, whether or not they share a
// disk.
Status NodeRun::take_seat() {
  Result<ReservedPort> port = reserve_port();
  if (!port.ok()) return port.status();
  port_ = std::move(*port);
  SeatMemory memory;
  memory.nproc = static_cast<std::uint32_t>(options_.nproc);
  memory.job = options_.job;
  if (const auto& folder = runner_.folder()) {
    memory.job = folder->job();
    memory.generation_seen = folder->highest_before();
    memory.generation_floor = plan_.coordinates ? folder->first_attempt().value() - 1 : 0;
    memory.first_ever = folder->highest_before() == 0;
  }
  if (memory.job.empty()) memory.job = command_name(options_);
  auto seat = ClusterSeat::open(plan_, memory, static_cast<std::uint16_t>(port_.port),
                                [this](const cluster::Decide& d) { return decide(d); });
  if (!seat.ok()) return seat.status();
  seat_ = std::move(*seat);
  propose_setting();
  return {};
}

// The last round has been learnt from.
void NodeRun::propose_setting() {
  seat_->use_setting(runner_.auto_dynamic().propose(cluster::setting_bytes_max));
}

// Between rounds.
int NodeRun::follow() {
  waits_since_ns_ = base::monotonic_ns();
  while (true) {
    pollfd ready[2] = {{seat_->fd(), POLLIN, 0}, {runner_.signals().fd(), POLLIN, 0}};
    ::poll(ready, 2, static_cast<int>(kPatienceNs / 1'000'000));
    seat_->serve();
    if (base::monotonic_ns() - waits_since_ns_ >= kPatienceNs) tell_trouble();
    // Before a signal is looked at: the supervisor knows what to do with it once ranks are due.
    if (const auto start = seat_->take_start(); start && !stopped_) {
      orderly_restarts_ += ended_orderly_ ? 1 : 0;
      ended_orderly_ = false;
      if (Status status = run_round(*start); !status.ok()) {
        runner_.console().warn(status.message());
        return finish(kExitAgentFault, false);
      }
    }
    if (const int signal = stop_signal(); signal != 0) {
      if (stopped_) return leave();  // asked twice
      Outcome outcome;
      outcome.stop_signal = signal;
      outcome.failed_rank = 0;
      outcome.failed_end = {0, signal};
      on_stopped(outcome);
    }
    if (!seat_->gave_up().empty()) {
      runner_.console().warn(seat_->gave_up());
      return finish(kExitAgentFault, false);
    }
    if (!seat_->over()) continue;
    if (stopped_) return leave();
    return finish(seat_->exit_code().value_or(kExitAgentFault), true);
  }
}

void NodeRun::tell_trouble() {
  const std::string trouble = seat_->trouble();
  if (trouble.empty() || trouble == trouble_) return;
  trouble_ = trouble;
  runner_.console().note(fmt::format("node {} waits for others: {}", plan_.name, trouble));
}

int NodeRun::stop_signal() {
  while (const auto signal = runner_.signals().next()) {
    if (is_stop_signal(signal->number)) return signal->number;
  }
  return 0;
}

Status NodeRun::run_round(const cluster::StartRanks& start) {
  trouble_.clear();
  NodeAttempt agreed;
  agreed.id = start.generation;
  agreed.place = {static_cast<int>(start.node_rank),
                  static_cast<int>(start.nodes),
                  static_cast<int>(start.rank_offset),
                  static_cast<int>(start.world_size),
                  start.master_addr,
                  start.master_port};
  agreed.companion = seat_.get();
  agreed.setting = start.setting;
  const std::int64_t began_ns = base::monotonic_ns();
  Result<AttemptResult> result = runner_.run(static_cast<int>(start.restart_count), &agreed);
  waits_since_ns_ = base::monotonic_ns();
  propose_setting();
  Result<ReservedPort> port = reserve_port();
  if (!port.ok()) return port.status();
  port_ = std::move(*port);
  if (result.ok()) {
    on_ended(std::move(*result), base::monotonic_ns() - began_ns);
  } else {
    runner_.console().warn(result.status().message());
    seat_->on_rank_failed(0, {runner_.start_failure_code(result.status()), 0});
    seat_->ranks_stopped(static_cast<std::uint16_t>(port_.port), {});
  }
  return {};
}

void NodeRun::on_ended(AttemptResult&& result, std::int64_t lasted_ns) {
  const Outcome outcome = result.outcome;
  const auto port = static_cast<std::uint16_t>(port_.port);
  runner_.progress().look();
  Aftermath& aftermath = runner_.aftermath();
  const bool progressed = aftermath.progressed(runner_.progress(), lasted_ns);
  if (outcome.stop_signal != 0) {
    // Ranks that ended well after the common last step must not cost the others theirs. Where we
    // had to kill ours, that step will not come.
    const bool well = std::ranges::all_of(outcome.ends, &RankEnd::clean, &EndedRank::end);
    if (seat_->last_step() && !outcome.failed() && well) {
      seat_->finished(port);
    } else {
      seat_->ranks_stopped(port, account_of({.category = "none"}, progressed));
    }
    on_stopped(outcome);
  } else if (outcome.failed()) {
    const failure::Verdict verdict = aftermath.appraise(result, runner_.journal());
    seat_->ranks_stopped(port, account_of(verdict, progressed));
    const std::string cause =
        aftermath.cause().empty() ? "" : fmt::format(" ({})", aftermath.cause());
    runner_.console().note(fmt::format("{} {}{}", runner_.name_of(*outcome.failed_rank),
                                       outcome.hung ? "hangs" : describe_end(outcome.failed_end),
                                       cause));
    // Of several nodes that share a folder, the first to know.
    if (::access((result.remains.dir + "/failure.json").c_str(), F_OK) != 0) {
      aftermath.keep(std::move(result.remains), verdict, "left to the coordinator");
      aftermath.when_idle();
    }
  } else if (outcome.for_others) {
    ended_orderly_ = seat_->stopped_for_newcomers();
    seat_->ranks_stopped(port, account_of({.category = "none"}, progressed));
    runner_.console().note(ended_orderly_ ? "ranks ended: nodes have come, all start together"
                                          : "ranks ended for the sake of other nodes");
    if (!ended_orderly_) keep_for_others(std::move(result.remains));
  } else {
    ended_orderly_ = true;
    seat_->finished(port);
  }
}

// No rank is left here. At the coordinator's that is the end for all; elsewhere the others decide
// whether they go on without us.
void NodeRun::on_stopped(const Outcome& outcome) {
  const bool scheduled = runner_.scheduled();
  stopped_ = after_stop(judge(outcome, false, scheduled), outcome, scheduled, runner_.stop_cause(),
                        options_.requeue);
  seat_->leave(stopped_->exit_code);
}

// The first node is told what it was when it has to decide.
void NodeRun::keep_for_others(Remains&& remains) {
  if (plan_.coordinates) {
    for_others_ = std::move(remains);
  } else {
    runner_.aftermath().keep(std::move(remains), other_node_verdict(), "left to the coordinator",
                             true);
  }
}

cluster::Decision NodeRun::decide(const cluster::Decide& decide) {
  ClusterDecision made = decide_round(decide, runner_.aftermath().policy(), options_.restarts.count,
                                      base::monotonic_ns());
  runner_.console().note(made.told);
  const bool own_error = !decide.failures.empty() &&
                         decide.failures.front().kind == cluster::FailureKind::rank_failed &&
                         decide.failures.front().signal == 0;
  if (own_error && runner_.auto_dynamic().blame(runner_.journal())) {
    made.decision.restart = true;
    propose_setting();
  }
  if (for_others_ && !decide.failures.empty()) {
    const cluster::Failure& first = decide.failures.front();
    const failure::Verdict verdict = other_node_verdict(first, describe_failure(decide));
    if (first.kind != cluster::FailureKind::rank_failed) {  // nobody else can record it
      runner_.journal().verdict(HW_RANK_UNKNOWN, {kExitAgentFault, 0}, origin_of(verdict),
                                fmt::format("{}: {}", verdict.category, verdict.proof));
    }
    runner_.aftermath().keep(std::move(*for_others_), verdict,
                             made.decision.restart ? "restarted" : "not restarted", true);
  }
  for_others_.reset();
  return made.decision;
}

// A node that leaves is not the job's end, unless it is the first.
int NodeRun::leave() {
  return finish(stopped_->exit_code, stopped_->job_ends && plan_.coordinates);
}

int NodeRun::finish(int exit_code, bool job_ends) {
  runner_.close_journal(job_ends);
  runner_.end(exit_code != 0 && !is_clean_stop(exit_code), orderly_restarts_);
  // For the whole job, once: whoever returns first would end the others in their last save.
  if (plan_.coordinates) runner_.come_back();
  return exit_code;
}

}  // namespace

int run_node(const RunOptions& options, const NodePlan& plan, Environment environment,
             std::vector<std::string> argv, std::int64_t began_monotonic_ns) {
  return NodeRun(options, plan, std::move(environment), std::move(argv), began_monotonic_ns).run();
}

}  // namespace headway::agent
