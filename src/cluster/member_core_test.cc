#include "cluster/member_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::cluster {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// A member with the coordinator's side played by the test.
class Bench {
 public:
  Bench() : core_(config_of(), 1'000, 0) {}

  static MemberConfig config_of() {
    MemberConfig config;
    config.job = "dlrm";
    config.node = "a";
    config.nproc = 2;
    config.incarnation = 5;
    return config;
  }
  // Until it dials.
  void dial() {
    dialled_ = false;
    while (!dialled_) pass(kSecond / 50);
  }
  void connect() {
    dial();
    core_.on_connected("10.0.0.1", "10.0.0.9", now_);
    hear(Greet{});
  }
  void join() {
    connect();
    hear(Welcome{5'000});
  }
  void hear(const Message& message) {
    core_.on_message(message, now_);
    collect();
  }
  void pass(std::int64_t ns) {
    now_ += ns;
    core_.on_deadline(now_);
    collect();
  }
  // Time in which every ping is answered.
  void live(std::int64_t ns) {
    for (const std::int64_t until = now_ + ns; now_ < until;) {
      pass(kSecond / 10);
      if (const auto ping = said<Ping>()) hear(Pong{ping->id});
    }
  }
  void start(std::uint64_t generation) {
    hear(Start{.generation = generation,
               .node_rank = 1,
               .nodes = 2,
               .rank_offset = 2,
               .world_size = 4,
               .master_port = 7,
               .master_addr = "10.0.0.3"});
  }
  void collect() {
    MemberOutput output = core_.take_output();
    for (auto& message : output.sends) sends_.push_back(std::move(message));
    for (auto& order : output.orders) orders_.push_back(std::move(order));
    dialled_ = dialled_ || output.dial;
    hung_up_ = hung_up_ || output.hang_up;
  }
  template <typename T>
  std::optional<T> said() const {
    std::optional<T> found;
    for (const Message& message : sends_) {
      if (const T* m = std::get_if<T>(&message)) found = *m;
    }
    return found;
  }
  template <typename T>
  std::optional<T> ordered() const {
    std::optional<T> found;
    for (const Order& order : orders_) {
      if (const T* o = std::get_if<T>(&order)) found = *o;
    }
    return found;
  }
  void clear() {
    sends_.clear();
    orders_.clear();
    hung_up_ = false;
  }

  MemberCore core_;
  std::int64_t now_ = 0;
  bool dialled_ = false;
  bool hung_up_ = false;
  std::vector<Message> sends_;
  std::vector<Order> orders_;
};

TEST(Member, SaysHelloAfterTheGreetingAndStartsWhatItIsTold) {
  Bench bench;
  bench.dial();
  bench.core_.on_connected("10.0.0.1", "10.0.0.9", bench.now_);
  bench.collect();
  EXPECT_FALSE(bench.said<Hello>());
  bench.hear(Greet{});
  EXPECT_EQ(bench.said<Hello>()->address, "10.0.0.1");
  EXPECT_EQ(bench.said<Hello>()->activity, Activity::idle);
  EXPECT_EQ(bench.said<Hello>()->port, 1'000);
  bench.hear(Welcome{5'000});
  bench.start(3);
  const auto order = bench.ordered<StartRanks>();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->generation, 3U);
  EXPECT_EQ(order->node_rank, 1U);
  EXPECT_EQ(order->nproc, 2U);
  EXPECT_EQ(order->master_addr, "10.0.0.3");
  EXPECT_EQ(order->master_port, 7);
}

TEST(Member, ALoopbackMasterIsOnTheCoordinatorsMachine) {
  for (const char* address : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"}) {
    Bench bench;
    bench.join();
    bench.hear(Start{
        .generation = 1, .nodes = 1, .world_size = 2, .master_port = 7, .master_addr = address});
    EXPECT_EQ(bench.ordered<StartRanks>()->master_addr, "10.0.0.9") << address;
  }
}

TEST(Member, TheLeaseRunsFromTheSendingOfTheLastPingThatWasAnswered) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.live(20 * kSecond);
  EXPECT_FALSE(bench.ordered<KillRanks>());
  const std::int64_t last_answer = bench.now_;
  while (!bench.ordered<KillRanks>() && bench.now_ < last_answer + 5 * kSecond) {
    bench.pass(kSecond / 100);
  }
  EXPECT_TRUE(bench.ordered<KillRanks>());
  EXPECT_TRUE(bench.hung_up_);
  bench.core_.ranks_stopped(1'001, bench.now_);
  bench.clear();
  bench.connect();
  EXPECT_EQ(bench.said<Hello>()->activity, Activity::idle);
  EXPECT_EQ(bench.said<Hello>()->port, 1'001);
  EXPECT_EQ(bench.said<Hello>()->generation_seen, 1U);
}

TEST(Member, ALateAnswerDoesNotStretchTheLease) {
  Bench bench;
  bench.join();
  bench.start(1);
  const auto first = bench.said<Ping>();
  for (int i = 0; i < 49; ++i) bench.pass(kSecond / 10);
  bench.hear(Pong{first->id});
  for (int i = 0; i < 3; ++i) bench.pass(kSecond / 10);
  EXPECT_TRUE(bench.ordered<KillRanks>());
}

TEST(Member, TheLeaseRunsOnWithoutAConnection) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.core_.on_disconnected(bench.now_);
  for (int i = 0; i < 49; ++i) bench.pass(kSecond / 10);
  EXPECT_FALSE(bench.ordered<KillRanks>());
  bench.pass(kSecond / 5);
  EXPECT_TRUE(bench.ordered<KillRanks>());
}

TEST(Member, AReturnInTimeGoesOnTraining) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.core_.on_disconnected(bench.now_);
  bench.clear();
  bench.connect();
  EXPECT_EQ(bench.said<Hello>()->activity, Activity::running);
  EXPECT_EQ(bench.said<Hello>()->generation, 1U);
  bench.hear(Welcome{5'000});
  bench.live(20 * kSecond);
  EXPECT_TRUE(bench.orders_.empty());
}

TEST(Member, AFailureIsToldAtOnceAndItsEndFollows) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.clear();
  bench.core_.rank_failed(1, 0, 9, bench.now_);
  bench.collect();
  EXPECT_EQ(bench.said<Failed>()->rank, 3U) << "of the job";
  EXPECT_EQ(bench.said<Failed>()->signal, 9);
  bench.hear(Stop{1});
  EXPECT_TRUE(bench.orders_.empty()) << "the supervisor is at it already";
  bench.core_.ranks_stopped(1'001, bench.now_);
  bench.collect();
  EXPECT_EQ(bench.said<Stopped>()->port, 1'001);
}

TEST(Member, WhatHappenedWithoutAConnectionIsToldLater) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.core_.on_disconnected(bench.now_);
  bench.connect();
  bench.core_.finished(1'001, bench.now_);  // between hello and welcome
  bench.clear();
  bench.hear(Welcome{5'000});
  EXPECT_EQ(bench.said<Finished>()->port, 1'001);

  Bench second;
  second.join();
  second.start(1);
  second.core_.on_disconnected(second.now_);
  second.core_.finished(1'001, second.now_);
  second.connect();
  EXPECT_EQ(second.said<Hello>()->activity, Activity::finished);
}

TEST(Member, AStopIsObeyedOnceAndOnlyForItsGeneration) {
  Bench bench;
  bench.join();
  bench.start(4);
  bench.clear();
  bench.hear(Stop{3});
  EXPECT_TRUE(bench.orders_.empty());
  bench.hear(Stop{4, StopWhy::membership});
  bench.hear(Stop{4, StopWhy::membership});
  ASSERT_EQ(bench.orders_.size(), 1U);
  EXPECT_EQ(bench.ordered<StopRanks>()->why, StopWhy::membership);
  bench.core_.rank_failed(0, 1, 0, bench.now_);
  bench.collect();
  EXPECT_FALSE(bench.said<Failed>()) << "it died of the stop";
  bench.core_.finished(1'001, bench.now_);
  bench.collect();
  EXPECT_TRUE(bench.said<Stopped>());
  EXPECT_FALSE(bench.said<Finished>()) << "the round is over for all";
}

TEST(Member, AStartThatCannotBeRightIsAnsweredByHangingUp) {
  Bench old;
  old.join();
  old.start(4);
  old.core_.ranks_stopped(1'001, old.now_);
  old.collect();
  old.clear();
  old.start(4);
  EXPECT_FALSE(old.ordered<StartRanks>());
  EXPECT_TRUE(old.hung_up_);

  Bench late;  // the lease is out, but nobody has looked at the clock
  late.join();
  late.now_ += 6 * kSecond;
  late.start(1);
  EXPECT_FALSE(late.ordered<StartRanks>());

  Bench twice;
  twice.join();
  twice.start(1);
  twice.clear();
  twice.start(2);
  EXPECT_FALSE(twice.ordered<StartRanks>());
}

TEST(Member, ARefusalThatCannotPassEndsItAndAnotherIsTriedAgain) {
  Bench bench;
  bench.connect();
  bench.hear(Refuse{Refusal::duplicate_node, true, "here already"});
  EXPECT_FALSE(bench.ordered<GiveUp>());
  bench.connect();
  bench.hear(Refuse{Refusal::wrong_token, false, "the job's token is another one"});
  EXPECT_THAT(bench.ordered<GiveUp>()->reason, HasSubstr("token"));
  EXPECT_TRUE(bench.core_.over());
  EXPECT_FALSE(bench.core_.deadline_ns());
}

TEST(Member, GivesUpAfterAWhileAndSaysWhatItHeardLast) {
  Bench bench;
  bench.connect();
  bench.hear(Refuse{Refusal::duplicate_node, true, "here already"});
  while (bench.now_ < 1'790 * kSecond) {
    bench.dial();
    bench.core_.on_disconnected(bench.now_);
  }
  EXPECT_FALSE(bench.ordered<GiveUp>());
  bench.pass(10 * kSecond);
  EXPECT_THAT(bench.ordered<GiveUp>()->reason, HasSubstr("here already"));
}

TEST(Member, RetriesAreSpreadAndBounded) {
  Bench bench;
  std::int64_t last = bench.now_;
  std::int64_t longest = 0;
  for (int i = 0; i < 100; ++i) {
    bench.dial();
    longest = std::max(longest, bench.now_ - last);
    last = bench.now_;
    bench.core_.on_disconnected(bench.now_);
  }
  EXPECT_GT(longest, kSecond);
  EXPECT_LE(longest, 2 * kSecond + kSecond / 50);
}

TEST(Member, ASilentCoordinatorIsHungUpOn) {
  Bench bench;
  bench.connect();
  bench.clear();
  bench.pass(5 * kSecond);
  EXPECT_TRUE(bench.hung_up_);
  bench.dial();
}

TEST(Member, DoneEndsItWithAGoodbye) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.core_.finished(1'001, bench.now_);
  bench.collect();
  bench.hear(Done{0});
  EXPECT_EQ(bench.ordered<JobDone>()->exit_code, 0);
  EXPECT_FALSE(bench.ordered<KillRanks>());
  EXPECT_TRUE(bench.said<Goodbye>());
  EXPECT_TRUE(bench.hung_up_);
}

TEST(Member, TheLastStepIsAskedForHeldAndFinal) {
  Bench bench;
  bench.join();
  bench.start(1);
  bench.core_.notice(30'000, bench.now_);
  bench.collect();
  EXPECT_EQ(bench.said<Notice>()->grace_ms, 30'000U);
  bench.hear(Notice{1, 30'000});
  EXPECT_TRUE(bench.ordered<AskBoundary>());
  bench.core_.boundary(9, bench.now_);
  bench.hear(Propose{1, 11});
  EXPECT_EQ(bench.said<Boundary>()->step, 9U);
  EXPECT_EQ(bench.ordered<HoldAt>()->step, 11U);
  bench.core_.beyond(12, bench.now_);
  bench.hear(Propose{1, 16});
  EXPECT_EQ(bench.said<Raise>()->step, 12U);
  bench.core_.held(16, bench.now_);
  bench.hear(Final{1, 16});
  EXPECT_EQ(bench.said<Accept>()->step, 16U);
  EXPECT_EQ(bench.ordered<StopAfter>()->step, 16U);
  bench.hear(Final{2, 99});
  EXPECT_EQ(bench.ordered<StopAfter>()->step, 16U) << "another generation's";
}

}  // namespace
}  // namespace headway::cluster
