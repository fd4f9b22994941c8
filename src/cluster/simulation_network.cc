// The simulation's network: connections keep their order, and nothing else.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/simulation.h"

namespace headway::cluster::test {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t s = 1'000'000'000;

}  // namespace

Simulation::Time Simulation::arrival(std::size_t machine, Time& last) {
  const Time delay = chance(2) ? between(100 * ms, 3 * s) : between(50 * us, 5 * ms);
  last = std::max({last + 1, now_ + delay, machines_[machine].cut_until + delay});
  return last;
}

void Simulation::dial(std::size_t index) {
  Machine& machine = machines_[index];
  const std::uint64_t attempt = ++machine.dial;
  Time none = 0;
  at(arrival(index, none), [this, index, attempt] { accept(index, attempt); });
}

// The request arrives, though the agent may have given it up meanwhile.
void Simulation::accept(std::size_t index, std::uint64_t attempt) {
  Machine& machine = machines_[index];
  const std::uint64_t life = machine.life;
  const auto wanted = [this, index, attempt, life] {
    const Machine& m = machines_[index];
    return m.member != nullptr && m.life == life && m.dial == attempt && m.connection == 0;
  };
  if (coordinator_ == nullptr) {
    at(now_ + between(1 * ms, 5 * ms), [this, index, wanted] {
      if (!wanted()) return;
      machines_[index].member->on_disconnected(local_ns(machines_[index]));
      serve_member(index);
    });
    return;
  }
  const std::uint64_t id = ++next_connection_;
  connections_[id] = {.machine = index};
  to_client(id, [this, index, id, wanted] {
    if (!wanted()) return close_client(id);
    Machine& m = machines_[index];
    m.connection = id;
    m.member->on_connected(fmt::format("10.0.0.{}", index), "10.0.0.0", local_ns(m));
    serve_member(index);
  });
  coordinator_->on_open(id, local_ns(machines_[0]));
  serve_coordinator();
}

void Simulation::to_server(std::uint64_t id, std::function<void()> what) {
  Connection& connection = connections_.at(id);
  if (connection.dead) return;
  at(arrival(connection.machine, connection.to_server),
     [this, id, life = coordinator_life_, what = std::move(what)] {
       const Connection& c = connections_.at(id);
       if (c.server_open && !c.dead && coordinator_ && life == coordinator_life_) what();
     });
}

void Simulation::to_client(std::uint64_t id, std::function<void()> what) {
  Connection& connection = connections_.at(id);
  if (connection.dead) return;
  at(arrival(connection.machine, connection.to_client),
     [this, id, life = machines_[connection.machine].life, what = std::move(what)] {
       const Connection& c = connections_.at(id);
       const Machine& m = machines_[c.machine];
       if (c.client_open && !c.dead && m.member && m.life == life) what();
     });
}

// An end is closed: the other one learns of it after what was sent before.
void Simulation::close_client(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  if (!connection.client_open) return;
  connection.client_open = false;
  to_server(id, [this, id] { learn_at_server(id); });
}

void Simulation::close_server(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  if (!connection.server_open) return;
  connection.server_open = false;
  to_client(id, [this, id] { learn_at_client(id); });
}

void Simulation::learn_at_server(std::uint64_t id) {
  connections_.at(id).server_open = false;
  coordinator_->on_close(id, local_ns(machines_[0]));
  serve_coordinator();
}

void Simulation::learn_at_client(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  connection.client_open = false;
  Machine& machine = machines_[connection.machine];
  if (machine.connection != id) return;
  machine.connection = 0;
  machine.member->on_disconnected(local_ns(machine));
  serve_member(connection.machine);
}

// What is under way is lost, and each end learns of it at a time of its own.
void Simulation::reset(std::uint64_t id) {
  connections_.at(id).dead = true;
  at(now_ + between(0, 4 * s), [this, id, life = coordinator_life_] {
    if (coordinator_ && life == coordinator_life_ && connections_.at(id).server_open) {
      learn_at_server(id);
    }
  });
  const std::size_t index = connections_.at(id).machine;
  at(now_ + between(0, 4 * s), [this, id, index, life = machines_[index].life] {
    const Machine& m = machines_[index];
    if (m.member && m.life == life && connections_.at(id).client_open) learn_at_client(id);
  });
}

}  // namespace headway::cluster::test
