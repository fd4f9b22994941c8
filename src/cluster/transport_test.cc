// Coordinator and members on real sockets of this machine, in one loop as the agent's. Leases are
// short; what is asserted is what happens, never how fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

#include "cluster/coordinator.h"
#include "cluster/member.h"

namespace headway::cluster {
namespace {

using testing::HasSubstr;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t patience_ns = 30'000 * ms;

struct Agent {
  std::unique_ptr<Member> member;
  std::vector<Order> orders;

  template <typename T>
  [[nodiscard]] std::optional<T> newest() const {
    std::optional<T> found;
    for (const Order& order : orders) {
      if (const T* o = std::get_if<T>(&order)) found = *o;
    }
    return found;
  }
  [[nodiscard]] std::uint64_t generation() const {
    const auto start = newest<StartRanks>();
    return start ? start->generation : 0;
  }
};

class Transport : public testing::Test {
 protected:
  void make_coordinator(std::uint32_t nodes, std::uint16_t port = 0) {
    CoordinatorConfig config;
    config.job = "dlrm";
    config.token = "secret";
    config.min_nodes = config.max_nodes = nodes;
    config.lease_ns = 400 * ms;
    config.margin_ns = 100 * ms;
    config.predecessor_possible = port != 0;
    config.generation_floor = ++lives_ << 16;
    auto made = Coordinator::create(config, "127.0.0.1", port);
    ASSERT_TRUE(made.ok()) << made.status().message();
    coordinator_ = std::move(made).value();
    port_ = coordinator_->port();
  }
  Agent& add(const std::string& node, const std::string& token = "secret",
             const std::string& host = "localhost") {
    MemberConfig config;
    config.job = "dlrm";
    config.token = token;
    config.node = node;
    config.incarnation = ++incarnations_;
    config.nproc = 2;
    config.retry_shortest_ns = 5 * ms;
    config.retry_longest_ns = 50 * ms;
    auto made = Member::create(config, host, port_, 1'000);
    EXPECT_TRUE(made.ok());
    agents_.push_back(std::make_unique<Agent>(Agent{std::move(made).value(), {}}));
    return *agents_.back();
  }
  // The agent's loop. False if it did not come about.
  bool until(const std::function<bool()>& happened) {
    const std::int64_t end_ns = lease_clock_ns() + patience_ns;
    while (!happened()) {
      if (lease_clock_ns() > end_ns) return false;
      std::vector<pollfd> polls;
      if (coordinator_) polls.push_back({coordinator_->fd(), POLLIN, 0});
      for (const auto& agent : agents_) {
        if (agent->member) polls.push_back({agent->member->fd(), POLLIN, 0});
      }
      (void)::poll(polls.data(), polls.size(), 1'000);
      if (coordinator_) coordinator_->serve();
      for (const auto& agent : agents_) {
        if (!agent->member) continue;
        agent->member->serve();
        for (Order& order : agent->member->take_orders()) agent->orders.push_back(order);
      }
    }
    return true;
  }
  bool all_run(std::uint64_t above) {
    return until([&] {
      return std::all_of(agents_.begin(), agents_.end(),
                         [&](const auto& agent) { return agent->generation() > above; });
    });
  }

  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::uint16_t port_ = 0;
  std::uint64_t incarnations_ = 0;
  std::uint64_t lives_ = 0;
};

TEST_F(Transport, AJobStartsFailsRestartsAndEnds) {
  make_coordinator(3);
  Agent& a = add("a");
  Agent& b = add("b", "secret", "127.0.0.1");
  Agent& c = add("c");
  ASSERT_TRUE(all_run(0));
  EXPECT_EQ(c.newest<StartRanks>()->rank_offset, 4U);
  EXPECT_EQ(c.newest<StartRanks>()->world_size, 6U);
  EXPECT_EQ(c.newest<StartRanks>()->master_addr, "127.0.0.1");
  const std::uint64_t first = a.generation();

  b.member->rank_failed(1, 7, 0);
  ASSERT_TRUE(until([&] { return a.newest<StopRanks>() && c.newest<StopRanks>(); }));
  a.member->ranks_stopped(2'000);
  b.member->ranks_stopped(2'001);
  c.member->ranks_stopped(2'002);
  std::optional<Decide> decide;
  ASSERT_TRUE(until([&] { return (decide = coordinator_->take_decide()).has_value(); }));
  EXPECT_EQ(decide->failures.at(0).rank, 3U);
  EXPECT_EQ(decide->failures.at(0).exit_code, 7);
  coordinator_->decide({.restart = true, .delay_ns = 10 * ms});
  ASSERT_TRUE(all_run(first));
  EXPECT_EQ(c.newest<StartRanks>()->master_port, 2'000);
  EXPECT_EQ(c.newest<StartRanks>()->restart_count, 1U);

  for (const auto& agent : agents_) agent->member->finished(3'000);
  ASSERT_TRUE(until([&] { return coordinator_->over(); }));
  EXPECT_EQ(coordinator_->take_ended(), 0);
  for (const auto& agent : agents_) EXPECT_EQ(agent->newest<JobDone>()->exit_code, 0);
}

TEST_F(Transport, ALostCoordinatorFencesAllAndItsReturnGoesOnHigher) {
  make_coordinator(2);
  Agent& a = add("a");
  Agent& b = add("b");
  ASSERT_TRUE(all_run(0));
  const std::uint64_t first = a.generation();
  coordinator_.reset();
  ASSERT_TRUE(until([&] { return a.newest<KillRanks>() && b.newest<KillRanks>(); }));
  EXPECT_THAT(a.member->trouble(), HasSubstr("localhost"));
  a.member->ranks_stopped(2'000);
  b.member->ranks_stopped(2'001);
  make_coordinator(2, port_);
  ASSERT_TRUE(all_run(first));
  EXPECT_EQ(a.generation(), b.generation());
}

TEST_F(Transport, ALostMemberIsWaitedForAndItsReturnIsEnough) {
  make_coordinator(2);
  Agent& a = add("a");
  Agent& b = add("b");
  ASSERT_TRUE(all_run(0));
  const std::uint64_t first = a.generation();
  b.member.reset();
  ASSERT_TRUE(until([&] { return a.newest<StopRanks>().has_value(); }));
  a.member->ranks_stopped(2'000);
  Agent& returned = add("b");
  ASSERT_TRUE(until([&] { return coordinator_->take_decide().has_value(); }));
  coordinator_->decide({.restart = true});
  ASSERT_TRUE(until([&] { return a.generation() > first && returned.generation() > first; }));
  EXPECT_EQ(returned.newest<StartRanks>()->node_rank, 1U);
}

TEST_F(Transport, AWrongTokenIsToldWhy) {
  make_coordinator(1);
  Agent& stranger = add("a", "guess");
  ASSERT_TRUE(until([&] { return stranger.newest<GiveUp>().has_value(); }));
  EXPECT_THAT(stranger.newest<GiveUp>()->reason, HasSubstr("token"));
}

TEST_F(Transport, AnotherProgramAtThePortHurtsNobody) {
  make_coordinator(1);
  std::vector<base::UniqueFd> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress address = numeric_addresses("127.0.0.1", port_).at(0);
    ASSERT_EQ(::connect(strangers.back().get(), reinterpret_cast<const sockaddr*>(&address.storage),
                        address.bytes),
              0);
    const std::string text = i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : "";
    ASSERT_EQ(::send(strangers.back().get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  add("a");
  ASSERT_TRUE(all_run(0));
}

TEST_F(Transport, APeerThatNeverReadsIsCutOff) {
  make_coordinator(1);
  base::UniqueFd greedy(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const SocketAddress address = numeric_addresses("127.0.0.1", port_).at(0);
  (void)::connect(greedy.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.bytes);
  std::string bytes;
  append_frame(bytes, Hello{.job = "dlrm",
                            .token = "secret",
                            .node = "greedy",
                            .index = {},
                            .port = 1,
                            .address = "10.0.0.1"});
  while (bytes.size() < 100'000) append_frame(bytes, Ping{1});
  bool broken = false;
  ASSERT_TRUE(until([&] {
    const ssize_t sent = ::send(greedy.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes = bytes.substr(static_cast<std::size_t>(sent));
    while (bytes.size() < 100'000) append_frame(bytes, Ping{1});
    broken = broken || (sent < 0 && errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN);
    return broken;
  }));
}

TEST_F(Transport, AnAddressInUseIsAnErrorThatNamesIt) {
  make_coordinator(1);
  CoordinatorConfig config;
  config.job = "dlrm";
  const auto second = Coordinator::create(config, "127.0.0.1", port_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr(std::to_string(port_)));
}

TEST(Config, WhatCannotBeIsAnErrorBeforeAnythingListens) {
  CoordinatorConfig config;
  config.job = "dlrm";
  config.min_nodes = 3;
  config.max_nodes = 2;
  EXPECT_THAT(Coordinator::create(config, "", 0).status().message(), HasSubstr("nodes 3:2"));
  config.min_nodes = 1;
  config.lease_ns = 1;
  EXPECT_THAT(Coordinator::create(config, "", 0).status().message(), HasSubstr("lease"));
  config.lease_ns = 400 * ms;
  EXPECT_THAT(Coordinator::create(config, "a-name", 0).status().message(), HasSubstr("a-name"));
  EXPECT_TRUE(Coordinator::create(config, "", 0).ok()) << "all addresses, any port";
  EXPECT_FALSE(Member::create({}, "localhost", 1, 1).ok());
}

TEST(Resolver, NamesAreLookedUpInAChild) {
  Resolver resolver;
  ASSERT_TRUE(resolver.ask("localhost", 7).ok());
  ASSERT_GE(resolver.fd(), 0);
  pollfd poll{resolver.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&poll, 1, 30'000), 1);
  auto answer = resolver.take();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_GE(answer->value().size(), 1U);
  ASSERT_TRUE(resolver.ask("127.0.0.1", 7).ok());
  EXPECT_EQ(resolver.fd(), -1);
  EXPECT_EQ(resolver.take()->value().size(), 1U);
  EXPECT_FALSE(resolver.take());
}

}  // namespace
}  // namespace headway::cluster
