// A whole job in one process and one thread, from one seed: a coordinator on the first machine, an
// agent on every machine, clocks that differ in zero and speed, connections that are slow, cut,
// reset at one end or half-open, agents and machines that die and return, ranks that fail, notices
// of preemption. Every message passes through its bytes. For tests.
//
// After every event the promises are checked: ranks of one generation only are alive; a generation
// has one membership, of at least min_nodes; a drained generation has one last step, that no rank
// has passed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cluster/coordinator_core.h"
#include "cluster/member_core.h"

namespace headway::cluster::test {

struct SimulationPlan {
  std::uint64_t seed = 0;
  std::uint32_t agents = 4;
  std::uint32_t min_nodes = 2;
  std::uint32_t max_nodes = 4;
  // The coordinator's machine remembers nothing; only that machine dies, and all have to be there.
  bool forgetful = false;
  // Ways to break the promise, to see that the checks notice.
  std::int64_t margin_ns = 1'000'000'000;
  bool lease_ignored = false;
};

struct SimulationResult {
  std::string violation;  // empty: none
  bool all_done = false;
  std::uint64_t events = 0;
  std::uint64_t generations = 0;
  std::uint64_t drains = 0;
};

class Simulation {
 public:
  explicit Simulation(const SimulationPlan& plan);
  SimulationResult run();

 private:
  using Time = std::int64_t;  // true time, which nobody in the simulation knows

  struct Machine {
    std::string name;
    double speed = 1;  // of its clock
    Time zero = 0;
    bool up = false;
    std::uint64_t life = 0;  // of the agent
    std::unique_ptr<MemberCore> member;
    std::uint64_t connection = 0;
    std::uint64_t dial = 0;  // the newest attempt
    Time cut_until = 0;
    bool done = false;
    std::optional<StartRanks> ranks;  // alive
    Time ranks_since = 0;
    std::optional<std::uint64_t> hold;
  };
  struct Connection {
    std::size_t machine = 0;
    bool client_open = true;
    bool server_open = true;
    bool dead = false;   // half-open: nothing arrives any more
    Time to_client = 0;  // the last arrival, since nothing overtakes
    Time to_server = 0;
  };
  struct Event {
    Time at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct Round {
    StartRanks start;
    std::map<std::uint32_t, std::size_t> machines;  // by node rank
    std::optional<std::uint64_t> last_step;
  };

  // Time and chance.
  Time between(Time low, Time high);
  bool chance(int percent) { return between(0, 99) < percent; }
  void at(Time when, std::function<void()> what);
  [[nodiscard]] std::int64_t local_ns(const Machine& machine) const;
  [[nodiscard]] Time true_time(const Machine& machine, std::int64_t local) const;

  // The network.
  Time arrival(std::size_t machine, Time& last);
  void dial(std::size_t index);
  void accept(std::size_t index, std::uint64_t attempt);
  void to_server(std::uint64_t id, std::function<void()> what);
  void to_client(std::uint64_t id, std::function<void()> what);
  void close_client(std::uint64_t id);
  void close_server(std::uint64_t id);
  void learn_at_server(std::uint64_t id);
  void learn_at_client(std::uint64_t id);
  void reset(std::uint64_t id);

  // Agents and the coordinator.
  void boot(std::size_t index);
  void crash(std::size_t index, bool whole_machine);
  void serve_member(std::size_t index);
  void serve_coordinator();
  void obey(std::size_t index, const Order& order);
  void start_ranks(std::size_t index, const StartRanks& start);
  void end_ranks(std::size_t index, Time after, bool finished);
  void on_drain_order(std::size_t index, const Order& order);
  [[nodiscard]] std::uint64_t step_of(const Machine& machine) const;
  // Runs `what` on the agent if it is still the same life and generation.
  void later(std::size_t index, Time after, std::function<void(Machine&)> what);

  void schedule_faults();
  void fault();
  void check();
  void violate(std::string what);

  SimulationPlan plan_;
  SimulationResult result_;
  std::mt19937_64 rng_;
  Time now_ = 0;
  Time faults_until_ = 0;
  std::uint64_t next_order_ = 0;
  std::priority_queue<Event> events_;
  std::vector<Machine> machines_;
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t next_connection_ = 0;
  std::unique_ptr<CoordinatorCore> coordinator_;
  std::uint64_t coordinator_life_ = 0;
  std::optional<int> ended_;
  std::map<std::uint64_t, Round> rounds_;
};

}  // namespace headway::cluster::test
