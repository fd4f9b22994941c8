// Whom the coordinator believes, whom it refuses, and when it takes ranks for dead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/coordinator_bench.h"

namespace headway::cluster {
namespace {

using test::config_of;
using test::CoordinatorBench;
using test::kSecond;
using testing::HasSubstr;

TEST(CoordinatorFence, TheEndOfAConnectionIsNotTheEndOfItsRanks) {
  CoordinatorBench bench(config_of(1, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.pass(3 * kSecond, {a, b});
  bench.close(b);
  EXPECT_TRUE(bench.told<Stop>(a)) << "the others stop at once";
  bench.say(a, Stopped{1, 2'000});
  bench.pass(5 * kSecond + kSecond / 2, {a});
  EXPECT_FALSE(bench.decide_) << "a lease and a margin since it was last heard of";
  bench.pass(kSecond / 2, {a});
  ASSERT_TRUE(bench.decide_);
  EXPECT_EQ(bench.decide_->failures.at(0).kind, FailureKind::node_lost);
  bench.clear();
  bench.decide({.restart = true});
  ASSERT_TRUE(bench.told<Start>(a)) << "it was waited for long enough already";
  EXPECT_EQ(bench.told<Start>(a)->nodes, 1U);
}

TEST(CoordinatorFence, ANodeThatReturnsWithoutRanksIsProofAndGetsItsPlaceBack) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.close(a);
  bench.say(b, Stopped{1, 2'000});
  Hello returned = CoordinatorBench::hello_of("a");
  returned.incarnation = 2;
  const auto a2 = bench.join(returned);
  ASSERT_TRUE(bench.decide_);
  bench.clear();
  bench.decide({.restart = true});
  EXPECT_EQ(bench.told<Start>(a2)->node_rank, 0U);
  EXPECT_EQ(bench.told<Start>(b)->generation, 2U);
}

TEST(CoordinatorFence, AGoodbyeIsProofToo) {
  CoordinatorBench bench(config_of(1, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.say(b, Goodbye{});
  bench.say(a, Stopped{1, 2'000});
  ASSERT_TRUE(bench.decide_);
  EXPECT_EQ(bench.decide_->failures.at(0).kind, FailureKind::node_left);
}

TEST(CoordinatorFence, ASilentNodeIsFencedThoughItsConnectionLooksAlive) {
  CoordinatorBench bench(config_of(1, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  bench.pass(5 * kSecond - kSecond / 5, {a});
  EXPECT_FALSE(bench.told<Stop>(a));
  bench.pass(kSecond / 5, {a});
  EXPECT_TRUE(bench.told<Stop>(a));
  EXPECT_THAT(bench.closes_, testing::Contains(b));
  bench.say(a, Stopped{1, 2'000});
  EXPECT_FALSE(bench.decide_);
  bench.pass(kSecond, {a});
  EXPECT_TRUE(bench.decide_);
}

TEST(CoordinatorFence, ABrokenConnectionThatIsReplacedInTimeChangesNothing) {
  CoordinatorBench bench(config_of(2, 2));
  const auto a = bench.join("a");
  const auto b = bench.join("b");
  Hello again = CoordinatorBench::hello_of("a");
  again.activity = Activity::running;
  again.generation = again.generation_seen = 1;
  again.port = 0;
  const auto a2 = bench.join(again);
  EXPECT_TRUE(bench.told<Welcome>(a2));
  EXPECT_FALSE(bench.told<Stop>(a2));
  EXPECT_FALSE(bench.told<Stop>(b));
  EXPECT_THAT(bench.closes_, testing::Contains(a));
  bench.close(a);
  EXPECT_FALSE(bench.told<Stop>(b));
}

TEST(CoordinatorFence, ARestartedCoordinatorWaitsOutLeasesAndGoesAboveWhatItIsTold) {
  CoordinatorConfig config = config_of(2, 2);
  config.predecessor_possible = true;
  CoordinatorBench bench(config);
  Hello trains = CoordinatorBench::hello_of("a");
  trains.activity = Activity::running;
  trains.generation = trains.generation_seen = 41;
  trains.port = 0;
  const auto a = bench.join(trains);
  EXPECT_EQ(bench.told<Stop>(a)->generation, 41U);
  EXPECT_EQ(bench.told<Stop>(a)->why, StopWhy::unknown_round);
  const auto b = bench.join("b");
  bench.say(a, Stopped{41, 2'000});
  bench.pass(5 * kSecond, {a, b});
  EXPECT_FALSE(bench.told<Start>(a));
  bench.pass(kSecond, {a, b});
  ASSERT_TRUE(bench.told<Start>(a));
  EXPECT_EQ(bench.told<Start>(a)->generation, 42U);
}

TEST(CoordinatorFence, TheFloorOfGenerationsHolds) {
  CoordinatorConfig config = config_of(1, 1);
  config.generation_floor = 1 << 16;
  CoordinatorBench bench(config);
  EXPECT_EQ(bench.told<Start>(bench.join("a"))->generation, (1U << 16) + 1);
}

TEST(CoordinatorFence, RefusesWithAReason) {
  CoordinatorBench bench(config_of(2, 2));
  const auto refusal = [&](const Hello& hello) {
    return bench.told<Refuse>(bench.join(hello)).value_or(Refuse{});
  };
  Hello hello = CoordinatorBench::hello_of("a");
  hello.job = "other";
  EXPECT_EQ(refusal(hello).why, Refusal::other_job);
  EXPECT_FALSE(refusal(hello).retry);
  EXPECT_THAT(refusal(hello).text, HasSubstr("dlrm"));
  for (const char* token : {"", "secres", "secret ", "secre"}) {
    hello = CoordinatorBench::hello_of("a");
    hello.token = token;
    EXPECT_EQ(refusal(hello).why, Refusal::wrong_token) << token;
  }
  hello = CoordinatorBench::hello_of("a");
  hello.version = protocol_version + 1;
  EXPECT_EQ(refusal(hello).why, Refusal::version);
  hello = CoordinatorBench::hello_of("a");
  hello.index = 4;
  bench.join(hello);
  hello.incarnation = 9;
  EXPECT_EQ(refusal(hello).why, Refusal::duplicate_node);
  EXPECT_TRUE(refusal(hello).retry) << "it may be its own predecessor";
  hello = CoordinatorBench::hello_of("b");
  hello.index = 4;
  EXPECT_THAT(refusal(hello).text, HasSubstr("index 4 is that of node a"));
  EXPECT_EQ(bench.core_.status().refused, 11U);
}

TEST(CoordinatorFence, WhatIsOutOfOrderEndsTheConnection) {
  CoordinatorBench bench(config_of(2, 2));
  bench.core_.on_open(100, 0);
  bench.say(100, Ping{1});
  EXPECT_EQ(bench.told<Refuse>(100)->why, Refusal::bad_order);
  bench.say(100, CoordinatorBench::hello_of("a"));
  EXPECT_FALSE(bench.told<Welcome>(100)) << "it is closed";
  bench.core_.on_open(101, 0);
  bench.say(101, CoordinatorBench::hello_of("a"));
  bench.say(101, CoordinatorBench::hello_of("a"));
  EXPECT_EQ(bench.told<Refuse>(101)->why, Refusal::bad_order);
  bench.core_.on_open(102, 0);
  bench.pass(5 * kSecond);
  EXPECT_THAT(bench.told<Refuse>(102)->text, HasSubstr("no hello in time"));
}

// The agent has given up connection 1 and trains through connection 2 when its old hello arrives.
TEST(CoordinatorFence, AHelloOlderThanTheNewestIsNoProof) {
  CoordinatorBench bench(config_of(1, 1));
  bench.core_.on_open(1'000, 0);
  bench.core_.on_open(1'001, 0);
  bench.say(1'001, CoordinatorBench::hello_of("a"));
  EXPECT_TRUE(bench.told<Start>(1'001));
  bench.say(1'000, CoordinatorBench::hello_of("a"));
  EXPECT_TRUE(bench.told<Refuse>(1'000));
  EXPECT_EQ(bench.core_.status().state, RoundState::running);
}

TEST(CoordinatorFence, MessagesOfAnotherGenerationAreNotHeard) {
  CoordinatorBench bench(config_of(1, 1));
  const auto a = bench.join("a");
  bench.say(a, Failed{.generation = 7});
  bench.say(a, Stopped{7, 1});
  bench.say(a, Finished{7, 1});
  EXPECT_EQ(bench.core_.status().state, RoundState::running);
}

}  // namespace
}  // namespace headway::cluster
