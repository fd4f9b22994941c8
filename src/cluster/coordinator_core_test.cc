// When rounds start, stop and end.
#include <gtest/gtest.h>

#include "cluster/coordinator_bench.h"

namespace headway::cluster {
namespace {

using test::config_of;
using test::CoordinatorBench;
using test::kSecond;

TEST(Coordinator, StartsAtOnceWithAllNodesInOrder) {
  CoordinatorBench bench(config_of(2, 2));
  const auto b = bench.join("b");
  EXPECT_FALSE(bench.told<Start>(b));
  const auto a = bench.join("a");
  const auto first = bench.told<Start>(a);
  const auto second = bench.told<Start>(b);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->generation, 1U);
  EXPECT_EQ(second->generation, 1U);
  EXPECT_EQ(first->node_rank, 0U);
  EXPECT_EQ(second->node_rank, 1U);
  EXPECT_EQ(second->rank_offset, 2U);
  EXPECT_EQ(second->world_size, 4U);
  EXPECT_EQ(second->master_addr, "addr-a");
  EXPECT_EQ(second->master_port, 1'000);
}

TEST(Coordinator, WhatItsHostWantsToldIsToldToAllOfARound) {
  CoordinatorBench bench(config_of(2, 2));
  bench.use_setting("+first");
  const auto a = bench.join("a");
  bench.use_setting("+second");  // the newest when the round begins
  const auto b = bench.join("b");
  EXPECT_EQ(bench.told<Start>(a)->setting, "+second");
  EXPECT_EQ(bench.told<Start>(b)->setting, "+second");
}

TEST(Coordinator, AnIndexGoesBeforeNamesAndNodesMayDiffer) {
  CoordinatorBench bench(config_of(3, 3));
  Hello first = CoordinatorBench::hello_of("z");
  first.index = 0;
  first.nproc = 8;
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  const auto z = bench.join(first);
  EXPECT_EQ(bench.told<Start>(z)->node_rank, 0U);
  EXPECT_EQ(bench.told<Start>(a)->rank_offset, 8U);
  EXPECT_EQ(bench.told<Start>(b)->rank_offset, 10U);
  EXPECT_EQ(bench.told<Start>(b)->world_size, 12U);
}

TEST(Coordinator, WaitsForALastCallAndNeverStartsBelowTheMinimum) {
  CoordinatorBench bench(config_of(2, 3));
  const auto a = bench.join("a");
  bench.pass(100 * kSecond, {a});
  EXPECT_FALSE(bench.told<Start>(a));
  const auto b = bench.join("b");
  bench.pass(4 * kSecond, {a, b});
  EXPECT_FALSE(bench.told<Start>(a));
  bench.pass(kSecond, {a, b});
  ASSERT_TRUE(bench.told<Start>(a));
  EXPECT_EQ(bench.told<Start>(a)->nodes, 2U);
}

TEST(Coordinator, ALastCallIsNotExtendedForEver) {
  CoordinatorBench bench(config_of(1, 3));
  const auto a = bench.join("a");
  for (int i = 0; i < 20; ++i) {
    bench.pass(4 * kSecond, {a});
    if (bench.told<Start>(a)) break;
    bench.close(bench.join("flapping"));
  }
  EXPECT_TRUE(bench.told<Start>(a));
  EXPECT_GE(bench.now_, 60 * kSecond);
}

TEST(Coordinator, TheDecisionHasWhatTheNodesSayOfTheirEnd) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.say(a, Failed{.generation = 1, .rank = 1, .exit_code = 1});
  bench.say(b, Stopped{1, 2'001, {true, false, true, 0, ""}});
  bench.say(a, Stopped{1, 2'000, {false, true, false, 90, "user_code"}});
  ASSERT_TRUE(bench.decide_);
  EXPECT_TRUE(bench.decide_->progressed);
  ASSERT_EQ(bench.decide_->failures.size(), 1U);
  EXPECT_EQ(bench.decide_->failures[0].account.category, "user_code");
  EXPECT_FALSE(bench.decide_->failures[0].account.retryable);
}

TEST(Coordinator, AFailureStopsTheRestAndTheNextRoundFollowsTheLastStopped) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.clear();
  bench.say(a, Failed{.generation = 1, .rank = 1, .exit_code = 3});
  EXPECT_EQ(bench.told<Stop>(b)->why, StopWhy::peer_failed);
  EXPECT_FALSE(bench.told<Stop>(a)) << "it stops of itself";
  bench.say(a, Stopped{1, 2'000});
  EXPECT_FALSE(bench.decide_);
  bench.say(b, Stopped{1, 2'001});
  ASSERT_TRUE(bench.decide_);
  EXPECT_EQ(bench.decide_->generation, 1U);
  EXPECT_EQ(bench.decide_->failures_total, 1U);
  EXPECT_EQ(bench.decide_->failures.at(0).node, "a");
  EXPECT_EQ(bench.decide_->failures.at(0).rank, 1U);
  EXPECT_EQ(bench.decide_->failures.at(0).exit_code, 3);
  EXPECT_FALSE(bench.told<Start>(a));
  bench.decide({.restart = true, .delay_ns = kSecond});
  bench.pass(kSecond / 2, {a, b});
  EXPECT_FALSE(bench.told<Start>(a));
  bench.pass(kSecond / 2, {a, b});
  ASSERT_TRUE(bench.told<Start>(a));
  EXPECT_EQ(bench.told<Start>(a)->generation, 2U);
  EXPECT_EQ(bench.told<Start>(a)->restart_count, 1U);
  EXPECT_EQ(bench.told<Start>(a)->master_port, 2'000) << "the one that came with stopped";
}

TEST(Coordinator, TheHostMayEndTheJobInstead) {
  CoordinatorBench bench(config_of(1, 1));
  const auto a = bench.join("a");
  bench.say(a, Failed{.generation = 1, .rank = 0, .signal = 9});
  bench.say(a, Stopped{1, 2'000});
  bench.decide({.restart = false, .exit_code = 137});
  EXPECT_EQ(bench.told<Done>(a)->exit_code, 137);
  EXPECT_EQ(bench.ended_, 137);
  EXPECT_FALSE(bench.core_.over());
  bench.say(a, Goodbye{});
  EXPECT_TRUE(bench.core_.over());
  EXPECT_FALSE(bench.core_.deadline_ns());
}

TEST(Coordinator, AllFinishedIsTheEnd) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.say(a, Finished{1, 2'000});
  bench.close(a);
  EXPECT_FALSE(bench.told<Stop>(b)) << "who has finished may go";
  bench.say(b, Finished{1, 2'000});
  EXPECT_EQ(bench.told<Done>(b)->exit_code, 0);
  Hello again = CoordinatorBench::hello_of("a");
  again.activity = Activity::finished;
  again.generation = 1;
  EXPECT_EQ(bench.told<Done>(bench.join(again))->exit_code, 0) << "and is told when it returns";
  bench.pass(40 * kSecond);
  EXPECT_TRUE(bench.core_.over()) << "but nobody is waited for without end";
}

TEST(Coordinator, AnEndThatIsAskedForStopsTheRanksFirst) {
  CoordinatorBench bench(config_of(1, 1));
  const auto a = bench.join("a");
  bench.core_.request_end(143, bench.now_);
  bench.say(a, Ping{1});
  EXPECT_EQ(bench.told<Stop>(a)->why, StopWhy::job_ends);
  EXPECT_FALSE(bench.told<Done>(a));
  bench.say(a, Stopped{1, 2'000});
  EXPECT_EQ(bench.told<Done>(a)->exit_code, 143);
  EXPECT_FALSE(bench.decide_);
}

TEST(Coordinator, ALateNodeIsTakenInWithoutThrashing) {
  CoordinatorBench bench(config_of(1, 3));
  const auto a = bench.join("a");
  bench.pass(5 * kSecond, {a});
  EXPECT_EQ(bench.told<Start>(a)->nodes, 1U);
  const auto b = bench.join("b");
  EXPECT_FALSE(bench.told<Stop>(a)) << "more may come: the round goes on meanwhile";
  bench.pass(5 * kSecond, {a, b});
  EXPECT_EQ(bench.told<Stop>(a)->why, StopWhy::membership);
  bench.say(a, Stopped{1, 2'000});
  EXPECT_FALSE(bench.decide_) << "nothing has failed";
  EXPECT_EQ(bench.told<Start>(b)->nodes, 2U);
  EXPECT_EQ(bench.told<Start>(b)->restart_count, 0U);
  bench.clear();
  const auto c = bench.join("c");
  bench.pass(24 * kSecond, {a, b, c});
  EXPECT_FALSE(bench.told<Stop>(a));
  bench.pass(6 * kSecond, {a, b, c});
  EXPECT_TRUE(bench.told<Stop>(a));
}

TEST(Coordinator, ARankThatDiesOfAMembershipStopIsNoFailure) {
  CoordinatorBench bench(config_of(1, 2));
  const auto a = bench.join("a");
  bench.pass(5 * kSecond, {a});
  const auto b = bench.join("b");
  EXPECT_TRUE(bench.told<Stop>(a)) << "now all are there: nobody is waited for";
  bench.say(a, Failed{.generation = 1, .rank = 0, .exit_code = 1});
  bench.say(a, Stopped{1, 2'000});
  EXPECT_FALSE(bench.decide_);
  EXPECT_TRUE(bench.told<Start>(b));
}

TEST(Coordinator, LateNodesAreSparesIfRejoiningIsOff) {
  CoordinatorConfig config = config_of(1, 2);
  config.rejoin = false;
  CoordinatorBench bench(config);
  const auto a = bench.join("a");
  bench.pass(5 * kSecond, {a});
  const auto b = bench.join("b");
  bench.pass(100 * kSecond, {a, b});
  EXPECT_FALSE(bench.told<Stop>(a));
  bench.say(a, Failed{.generation = 1});
  bench.say(a, Stopped{1, 2'000});
  bench.decide({.restart = true});
  EXPECT_EQ(bench.told<Start>(b)->nodes, 2U);
}

TEST(Coordinator, ASpareStaysOneWhileTheOldMembersAreThere) {
  CoordinatorBench bench(config_of(2, 2));
  const auto b = bench.join("b");
  const auto c = bench.join("c");
  const auto a = bench.join("a");
  bench.say(b, Failed{.generation = 1});
  bench.say(b, Stopped{1, 2'000});
  bench.say(c, Stopped{1, 2'000});
  bench.decide({.restart = true});
  EXPECT_FALSE(bench.told<Start>(a));
  EXPECT_EQ(bench.told<Start>(b)->generation, 2U);
  bench.say(c, Goodbye{});
  bench.say(b, Stopped{2, 2'000});
  bench.decide({.restart = true});
  EXPECT_EQ(bench.told<Start>(a)->node_rank, 0U);
}

// Everything but a start, a stop and a scan for silent nodes is of constant cost a message.
TEST(Coordinator, TenThousandNodesRestart) {
  constexpr std::uint32_t nodes = 10'000;
  CoordinatorBench bench(config_of(nodes, nodes));
  std::vector<ConnectionId> all;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    Hello hello = CoordinatorBench::hello_of("node" + std::to_string(i));
    hello.index = nodes - 1 - i;
    all.push_back(bench.join(hello));
  }
  EXPECT_EQ(bench.told<Start>(all.front())->node_rank, nodes - 1);
  bench.pass(bench.now_ + kSecond, all);
  bench.clear();
  bench.say(all.at(5), Failed{.generation = 1, .rank = 3, .signal = 9});
  for (const ConnectionId node : all) bench.say(node, Stopped{1, 2'000});
  ASSERT_TRUE(bench.decide_);
  bench.clear();
  bench.decide({.restart = true});
  EXPECT_EQ(bench.told<Start>(all.back())->world_size, 2 * nodes);
  EXPECT_EQ(bench.told<Start>(all.back())->generation, 2U);
}

TEST(Coordinator, ADrainedRoundIsTheHostsToDecide) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.say(b, Notice{1, 30'000});
  EXPECT_EQ(bench.told<Notice>(a)->grace_ms, 30'000U);
  bench.say(a, Boundary{1, 10});
  bench.say(b, Boundary{1, 11});
  EXPECT_EQ(bench.told<Propose>(a)->step, 13U);
  bench.say(a, Accept{1, 13});
  bench.say(b, Raise{1, 14});
  EXPECT_EQ(bench.told<Propose>(a)->step, 18U);
  bench.say(a, Accept{1, 18});
  bench.say(b, Accept{1, 18});
  EXPECT_EQ(bench.told<Final>(a)->step, 18U);
  bench.say(a, Finished{1, 2'000});
  bench.say(b, Finished{1, 2'000});
  ASSERT_TRUE(bench.decide_);
  EXPECT_TRUE(bench.decide_->drained);
  EXPECT_FALSE(bench.ended_);
  bench.decide({.restart = true});
  EXPECT_EQ(bench.told<Start>(a)->generation, 2U);
}

TEST(Coordinator, AnEndAfterAnAgreementWaitsForWhoeverStillSaves) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.say(a, Notice{1, 0});
  bench.say(a, Boundary{1, 10});
  bench.say(b, Boundary{1, 10});
  bench.say(a, Accept{1, 12});
  bench.say(b, Accept{1, 12});
  bench.say(a, Finished{1, 2'000});
  bench.say(a, Goodbye{});
  bench.end(143);
  EXPECT_FALSE(bench.told<Stop>(b)) << "it is saving";
  EXPECT_FALSE(bench.ended_);
  bench.say(b, Finished{1, 2'000});
  EXPECT_EQ(bench.ended_, 143);
  bench.say(b, Goodbye{});
  EXPECT_TRUE(bench.core_.over()) << "who left is not waited for";
  EXPECT_FALSE(bench.decide_) << "nothing is left to decide";
}

}  // namespace
}  // namespace headway::cluster
