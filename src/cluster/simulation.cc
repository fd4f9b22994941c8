#include "cluster/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cluster/overloaded.h"
#include "cluster/wire.h"

namespace headway::cluster::test {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t s = 1'000'000'000;
constexpr std::int64_t faults_for = 60 * s;
constexpr std::int64_t calm_max = 300 * s;  // in which everything has to come to its end
constexpr std::int64_t step_time = 50 * ms;

Message through_bytes(const Message& message) {
  std::string frame;
  append_frame(frame, message);
  FrameReader reader;
  reader.feed(frame);
  Message read;
  HW_CHECK(reader.next(read).value());
  return read;
}

}  // namespace

Simulation::Simulation(const SimulationPlan& plan) : plan_(plan), rng_(plan.seed) {
  machines_.resize(plan.agents);
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    machines_[i].name = fmt::format("node{}", i);
    machines_[i].speed = 1 + static_cast<double>(between(-200, 200)) * 1e-6;
    machines_[i].zero = between(0, 1'000 * s);
  }
}

SimulationResult Simulation::run() {
  faults_until_ = faults_for;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    at(between(0, 3 * s), [this, i] { boot(i); });
  }
  schedule_faults();
  const auto all_done = [this] {
    return std::all_of(machines_.begin(), machines_.end(), [](const Machine& m) { return m.done; });
  };
  while (!events_.empty() && result_.violation.empty() && !all_done() &&
         now_ < faults_until_ + calm_max) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.what();
    ++result_.events;
    check();
  }
  result_.all_done = all_done();
  result_.generations = rounds_.size();
  return result_;
}

Simulation::Time Simulation::between(Time low, Time high) {
  return low + static_cast<Time>(rng_() % static_cast<std::uint64_t>(high - low + 1));
}

void Simulation::at(Time when, std::function<void()> what) {
  events_.push({std::max(when, now_), next_order_++, std::move(what)});
}

std::int64_t Simulation::local_ns(const Machine& machine) const {
  return machine.zero + static_cast<std::int64_t>(static_cast<double>(now_) * machine.speed);
}

Simulation::Time Simulation::true_time(const Machine& machine, std::int64_t local) const {
  return static_cast<Time>(static_cast<double>(local - machine.zero) / machine.speed) + 1'000;
}

void Simulation::boot(std::size_t index) {
  Machine& machine = machines_[index];
  HW_CHECK(!machine.up && !machine.ranks);
  machine.up = true;
  ++machine.life;
  if (index == 0) {
    ++coordinator_life_;
    CoordinatorConfig config;
    config.job = "job";
    config.token = "token";
    config.min_nodes = plan_.min_nodes;
    config.max_nodes = plan_.max_nodes;
    config.margin_ns = plan_.margin_ns;
    config.linger_ns = 10'000 * s;
    config.rejoin_min_interval_ns = 10 * s;
    config.predecessor_possible = coordinator_life_ > 1;
    config.generation_floor = plan_.forgetful ? 0 : coordinator_life_ << 16;
    config.ended_with = ended_;
    coordinator_ = std::make_unique<CoordinatorCore>(config, local_ns(machine));
    serve_coordinator();
  }
  if (machine.done) return;
  MemberConfig config;
  config.job = "job";
  config.token = "token";
  config.node = machine.name;
  config.incarnation = rng_();
  config.nproc = static_cast<std::uint32_t>(1 + index % 3);
  if (plan_.seed % 2 == 0) config.index = static_cast<std::uint32_t>(index);
  machine.member = std::make_unique<MemberCore>(config, 1'000, local_ns(machine));
  serve_member(index);
}

void Simulation::crash(std::size_t index, bool whole_machine) {
  Machine& machine = machines_[index];
  if (!machine.up || (machine.done && index != 0)) return;
  machine.up = false;
  for (auto& [id, connection] : connections_) {
    if (connection.machine != index && index != 0) continue;
    if (whole_machine) connection.dead = true;
    if (connection.machine == index) close_client(id);
    if (index == 0) close_server(id);
  }
  machine.connection = 0;
  machine.hold.reset();
  machine.member.reset();
  if (index == 0) coordinator_.reset();
  // A number that nobody else has heard of may be given again by a host that writes down none.
  if (plan_.forgetful) {
    std::erase_if(rounds_, [&](const auto& entry) {
      const auto& machines = entry.second.machines;
      return machines.size() == 1 && machines.begin()->second == index;
    });
  }
  // Ranks die with their agent, or a moment later.
  const Time dead_after = whole_machine ? 0 : between(0, 50 * ms);
  at(now_ + dead_after, [this, index] { machines_[index].ranks.reset(); });
  at(now_ + between(100 * ms, chance(50) ? 2 * s : 20 * s), [this, index] { boot(index); });
}

void Simulation::serve_member(std::size_t index) {
  Machine& machine = machines_[index];
  MemberOutput output = machine.member->take_output();
  for (const Message& message : output.sends) {
    if (machine.connection == 0) continue;
    to_server(machine.connection, [this, id = machine.connection, m = through_bytes(message)] {
      coordinator_->on_message(id, m, local_ns(machines_[0]));
      serve_coordinator();
    });
  }
  if (output.hang_up) {
    ++machine.dial;
    if (machine.connection != 0) close_client(std::exchange(machine.connection, 0));
  }
  if (output.dial) dial(index);
  for (const Order& order : output.orders) obey(index, order);
  if (!machine.member) return;
  const auto deadline = machine.member->deadline_ns();
  if (!deadline) return;
  at(true_time(machine, *deadline), [this, index, deadline, life = machine.life] {
    Machine& m = machines_[index];
    if (!m.member || m.life != life || m.member->deadline_ns() != deadline) return;
    m.member->on_deadline(local_ns(m));
    serve_member(index);
  });
}

void Simulation::serve_coordinator() {
  CoordinatorOutput output = coordinator_->take_output();
  for (const auto& [id, message] : output.sends) {
    if (!connections_.at(id).server_open) continue;
    to_client(id, [this, id = id, m = through_bytes(message)] {
      const std::size_t index = connections_.at(id).machine;
      if (machines_[index].connection != id) return;
      machines_[index].member->on_message(m, local_ns(machines_[index]));
      serve_member(index);
    });
  }
  for (const std::uint64_t id : output.closes) close_server(id);
  if (output.ended) ended_ = output.ended;
  const std::uint64_t life = coordinator_life_;
  if (output.decide) {
    if (output.decide->drained) ++result_.drains;
    at(now_ + between(0, 200 * ms), [this, life] {
      if (!coordinator_ || life != coordinator_life_) return;
      coordinator_->on_decision({.restart = true, .delay_ns = between(0, 500 * ms)},
                                local_ns(machines_[0]));
      serve_coordinator();
    });
  }
  const auto deadline = coordinator_->deadline_ns();
  if (!deadline) return;
  at(true_time(machines_[0], *deadline), [this, life, deadline] {
    if (!coordinator_ || life != coordinator_life_ || coordinator_->deadline_ns() != deadline) {
      return;
    }
    coordinator_->on_deadline(local_ns(machines_[0]));
    serve_coordinator();
  });
}

void Simulation::later(std::size_t index, Time after, std::function<void(Machine&)> what) {
  const Machine& machine = machines_[index];
  at(now_ + after, [this, index, life = machine.life, generation = machine.ranks->generation,
                    what = std::move(what)] {
    Machine& m = machines_[index];
    if (!m.member || m.life != life || !m.ranks || m.ranks->generation != generation) return;
    what(m);
    serve_member(index);
  });
}

void Simulation::end_ranks(std::size_t index, Time after, bool finished) {
  later(index, after, [this, finished](Machine& m) {
    if (finished && m.hold) return;  // its end comes with the last step
    m.ranks.reset();
    m.hold.reset();
    const auto port = static_cast<std::uint16_t>(between(1'000, 60'000));
    finished ? m.member->finished(port, local_ns(m)) : m.member->ranks_stopped(port, local_ns(m));
  });
}

void Simulation::start_ranks(std::size_t index, const StartRanks& start) {
  Machine& machine = machines_[index];
  if (machine.ranks) return violate("two generations on one machine");
  machine.ranks = start;
  machine.ranks_since = now_;
  Round& round = rounds_[start.generation];
  if (round.machines.empty()) round.start = start;
  const bool same =
      round.start.nodes == start.nodes && round.start.world_size == start.world_size &&
      round.start.master_addr == start.master_addr && round.start.master_port == start.master_port;
  if (!same || !round.machines.emplace(start.node_rank, index).second) {
    violate(fmt::format("generation {} started with two memberships", start.generation));
  }
  if (start.nodes < plan_.min_nodes || start.nodes > plan_.max_nodes) {
    violate(fmt::format("generation {} has {} nodes", start.generation, start.nodes));
  }
  end_ranks(index, chance(25) ? between(1 * s, 15 * s) : between(15 * s, 60 * s), true);
  if (now_ > faults_until_) return;
  if (chance(15)) {
    later(index, between(0, 15 * s), [this, index](Machine& m) {
      m.member->rank_failed(0, 1, 0, local_ns(m));
      end_ranks(index, between(10 * ms, 300 * ms), false);
    });
  }
  if (chance(5)) {
    later(index, between(0, 5 * s), [this](Machine& m) { m.member->notice(30'000, local_ns(m)); });
  }
}

void Simulation::obey(std::size_t index, const Order& order) {
  Machine& machine = machines_[index];
  const auto leave = [&] {
    machine.done = true;
    machine.ranks.reset();
    if (machine.connection != 0) close_client(std::exchange(machine.connection, 0));
    at(now_, [this, index] { machines_[index].member.reset(); });
  };
  std::visit(overloaded{
                 [&](const StartRanks& o) { start_ranks(index, o); },
                 [&](const StopRanks&) { end_ranks(index, between(10 * ms, 2 * s), false); },
                 [&](const KillRanks&) {
                   if (!plan_.lease_ignored) end_ranks(index, between(0, 300 * ms), false);
                 },
                 [&](const JobDone&) { leave(); },
                 [&](const GiveUp& o) { violate("gave up: " + o.reason); },
                 [&](const auto&) { on_drain_order(index, order); },
             },
             order);
}

std::uint64_t Simulation::step_of(const Machine& machine) const {
  const auto free = static_cast<std::uint64_t>((now_ - machine.ranks_since) / step_time);
  return std::min(free, machine.hold.value_or(free));
}

void Simulation::on_drain_order(std::size_t index, const Order& order) {
  Machine& machine = machines_[index];
  if (!machine.ranks) return;
  if (std::holds_alternative<AskBoundary>(order)) {
    later(index, between(0, 20 * ms),
          [this](Machine& m) { m.member->boundary(step_of(m), local_ns(m)); });
  } else if (const auto* hold = std::get_if<HoldAt>(&order)) {
    later(index, between(0, 200 * ms), [this, step = hold->step](Machine& m) {
      const bool past = !m.hold && step_of(m) >= step;
      if (past) return m.member->beyond(step_of(m), local_ns(m));
      m.hold = step;
      m.member->held(step, local_ns(m));
    });
  } else if (const auto* last = std::get_if<StopAfter>(&order)) {
    auto& agreed = rounds_[machine.ranks->generation].last_step;
    if (agreed.value_or(last->step) != last->step) violate("two last steps in one generation");
    if (step_of(machine) > last->step) violate("a rank is past the agreed step");
    agreed = last->step;
    later(index, between(0, 2 * s), [this, index](Machine& m) {
      m.hold.reset();
      end_ranks(index, 0, true);
    });
  }
}

void Simulation::schedule_faults() {
  for (Time when = between(0, 5 * s); when < faults_until_; when += between(100 * ms, 8 * s)) {
    at(when, [this] { fault(); });
  }
}

void Simulation::fault() {
  const auto index = static_cast<std::size_t>(between(0, plan_.agents - 1));
  Machine& machine = machines_[index];
  const auto connection = connections_.find(machine.connection);
  switch (between(0, 5)) {
    case 0:
    case 1:
      if (!plan_.forgetful || index == 0) crash(index, chance(40));
      break;
    case 2:
    case 3:
      machine.cut_until = now_ + between(100 * ms, 12 * s);
      break;
    case 4:  // half-open
      if (connection != connections_.end()) connection->second.dead = true;
      break;
    case 5:
      if (connection != connections_.end()) reset(connection->first);
      break;
  }
}

void Simulation::check() {
  std::set<std::uint64_t> generations;
  for (const Machine& machine : machines_) {
    if (machine.ranks) generations.insert(machine.ranks->generation);
  }
  if (generations.size() > 1) {
    violate(fmt::format("ranks of generations {} and {} run at the same time", *generations.begin(),
                        *generations.rbegin()));
  }
}

void Simulation::violate(std::string what) {
  if (result_.violation.empty()) {
    result_.violation = fmt::format("at {:.6f} s: {}", static_cast<double>(now_) / s, what);
  }
}

}  // namespace headway::cluster::test
