// A holder and its trainers, in one process but over the real socket, memory and disk.
#include "replica/holder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/folder.h"
#include "replica/trainer.h"

namespace headway::replica {
namespace {

using checkpoint::DType;
constexpr std::int64_t kLongNs = 60'000'000'000;
#ifdef SYS_poll
constexpr long kPollCall = SYS_poll;
#else
constexpr long kPollCall = SYS_ppoll;
#endif

class HolderTest : public testing::Test {
 protected:
  ~HolderTest() override { stop(); }

  void start() {
    HolderOptions options;
    options.folder = dir_.path() + "/shm";
    options.orphan_ns = -1;
    options.linger_ns = -1;
    auto holder = Holder::open(std::move(options));
    ASSERT_TRUE(holder.ok()) << holder.status().message();
    holder_ = std::move(*holder);
    stop_.reset(::eventfd(0, EFD_CLOEXEC));
    thread_ = std::thread([this] {
      thread_id_ = ::gettid();
      ended_ = holder_->run(stop_.get());
    });
  }
  // Whoever cuts a file short while it is read kills the reader: tests that cut wait for this.
  void wait_until_it_sleeps() {
    for (int look = 0; look < 10'000; ++look) {
      auto call =
          base::read_file(fmt::format("/proc/self/task/{}/syscall", thread_id_.load()), 100);
      ASSERT_TRUE(call.ok()) << call.status().message();
      if (call->starts_with(fmt::format("{} ", kPollCall))) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    FAIL() << "the holder does not come to rest";
  }
  void stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(stop_.get(), &one, sizeof one), 8);
    thread_.join();
    holder_.reset();
  }
  LinkOptions options(std::uint32_t rank, std::uint32_t ranks, std::uint64_t attempt = 1) {
    LinkOptions options;
    options.folder = dir_.path() + "/shm";
    options.hello.rank = rank;
    options.hello.world_size = options.hello.local_world_size = ranks;
    options.hello.attempt = attempt;
    options.hello.job = "test";
    options.hello.folder = dir_.path() + "/checkpoints";
    options.on_news = [this](const Message& message) {
      const std::lock_guard lock(mutex_);
      news_.push_back(message);
      changed_.notify_all();
    };
    return options;
  }
  bool wait_for(Say say, std::uint64_t step) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      return std::any_of(news_.begin(), news_.end(), [&](const Message& message) {
        return message.say == say && message.step == step;
      });
    });
  }
  std::vector<std::uint64_t> steps_on_disk() {
    std::vector<std::uint64_t> steps;
    auto names = folder_.list();
    for (const auto& name : *names) {
      EXPECT_TRUE(folder_.verify(name).ok()) << folder_.verify(name).message();
      steps.push_back(name.step);
    }
    return steps;
  }

  base::TempDir dir_;
  checkpoint::CheckpointFolder folder_{base::real_file_system(), dir_.path() + "/checkpoints"};
  std::unique_ptr<Holder> holder_;
  base::UniqueFd stop_;
  std::thread thread_;
  std::atomic<pid_t> thread_id_ = 0;
  base::Status ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> news_;
};

// The state of a rank, and a trainer that saves it.
struct Rank {
  explicit Rank(LinkOptions options) : trainer(std::move(options), 2), memory(9'000'001) {}

  bool save(std::uint64_t step, bool persist, std::int64_t wait_ns = kLongNs) {
    if (trainer.stage() == nullptr) {
      EXPECT_TRUE(trainer.plan({{{"w", DType::u8, {memory.size()}, {0}}, true}}, 2).ok());
    }
    const auto slot = trainer.wait_for_slot(wait_ns) ? trainer.begin() : nullptr;
    if (!slot) return false;
    std::memset(memory.data(), static_cast<int>(step), memory.size());
    const Source source{.at = memory.data()};
    trainer.fill(slot, {step, static_cast<std::int64_t>(step) * 10, 5, persist}, {&source, 1});
    return true;
  }

  Trainer trainer;
  std::vector<std::byte> memory;
};

TEST_F(HolderTest, MemoryThatIsBeingFetchedWhenItEndsIsGivenBack) {
  for (int round = 0; round < 20; ++round) {
    start();
    Rank a(options(0, 1));
    ASSERT_TRUE(a.trainer.plan({{{"w", DType::u8, {a.memory.size()}, {0}}, true}}, 2).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(round * 100));
    stop();
    ASSERT_TRUE(ended_.ok()) << ended_.message();
    EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/shm")) << "round " << round;
  }
}

TEST_F(HolderTest, AStepThatAllRanksPinnedGetsToTheDisk) {
  start();
  Rank a(options(0, 2));
  Rank b(options(1, 2));
  ASSERT_TRUE(a.save(10, true));
  ASSERT_TRUE(b.save(10, true));
  ASSERT_TRUE(wait_for(Say::durable, 10));
  ASSERT_TRUE(a.save(20, true));
  ASSERT_TRUE(a.save(30, false)) << "the slot of 10 is free again";
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{10}) << "one rank's 20 is no checkpoint";
  EXPECT_FALSE(a.save(40, false, 0)) << "20 waits for the disk, 30 is the newest";
  ASSERT_TRUE(b.save(20, true));
  ASSERT_TRUE(wait_for(Say::durable, 20));
  auto manifest = folder_.read({20, 2});
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->files.size(), 2U);
  EXPECT_EQ(manifest->job, "test");
  EXPECT_EQ(manifest->data, 200U);
  stop();
  EXPECT_TRUE(ended_.ok()) << ended_.message();
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/shm")) << "memory is given back";
}

TEST_F(HolderTest, WhenItIsStoppedTheNewestWholeStepIsWritten) {
  start();
  Rank a(options(0, 2));
  Rank b(options(1, 2));
  for (const std::uint64_t step : {1, 2}) {
    ASSERT_TRUE(a.save(step, false));
    ASSERT_TRUE(b.save(step, false));
  }
  ASSERT_TRUE(a.save(3, false));
  EXPECT_TRUE(steps_on_disk().empty());
  stop();
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{2});
}

TEST_F(HolderTest, TheSuccessorFindsWhatWasSealedAndTakesIt) {
  start();
  {
    Rank dead(options(0, 1));
    ASSERT_TRUE(dead.save(5, false));
    ASSERT_TRUE(dead.save(6, false));
  }
  Rank next(options(0, 1, 2));
  auto left = next.trainer.left_behind(kLongNs);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].facts.step, 6U);
  ASSERT_TRUE(next.trainer.verify(left[0]).ok());
  ASSERT_TRUE(next.trainer.plan({{{"w", DType::u8, {next.memory.size()}, {0}}, true}}, 2).ok());
  EXPECT_EQ(next.trainer.stage()->plan().layout_hash, left[0].facts.layout_hash);
  const auto live = next.trainer.adopt(left[0]);
  ASSERT_EQ(live, left[0].slot) << "nobody waits for a copy";
  ASSERT_TRUE(next.trainer.settle(kLongNs));
  EXPECT_EQ(live->state(), SlotState::live);
  EXPECT_EQ(live->image()[4096], std::byte{6});
  EXPECT_FALSE(next.trainer.take_changed_early());
  live->image()[4096] = std::byte{99};
  const auto kept = next.trainer.left_behind(0);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].facts, left[0].facts) << "who comes after a second crash finds step 6";
  EXPECT_TRUE(next.trainer.verify(kept[0]).ok());
  ASSERT_TRUE(next.save(7, true)) << "in the slot that the holder made instead";
  ASSERT_TRUE(wait_for(Say::durable, 7));
  left = next.trainer.left_behind(0);
  ASSERT_EQ(left[0].facts.step, 7U);
  EXPECT_GT(left[0].facts.sequence, left[1].facts.sequence);
}

// The group is started anew because one of its ranks died.
TEST_F(HolderTest, WhatWasOnlyInMemoryGetsToTheDiskWhenAllHaveTakenItOver) {
  start();
  {
    Rank a(options(0, 2));
    Rank b(options(1, 2));
    ASSERT_TRUE(a.save(6, false));
    ASSERT_TRUE(b.save(6, false));
  }
  Rank next_a(options(0, 2, 2));
  Rank next_b(options(1, 2, 2));
  const auto left_a = next_a.trainer.left_behind(kLongNs);
  const auto left_b = next_b.trainer.left_behind(kLongNs);
  ASSERT_EQ(left_a.size(), 1U);
  ASSERT_EQ(left_b.size(), 1U);
  const auto live = next_a.trainer.adopt(left_a[0], false, true);
  ASSERT_EQ(live, left_a[0].slot);
  ASSERT_TRUE(next_a.trainer.settle(kLongNs));
  std::memset(live->image().data() + 4096, 99, 1000);
  ASSERT_TRUE(next_a.save(7, false)) << "in the slot that the holder made after it had looked";
  EXPECT_EQ(left_b[0].slot->state(), SlotState::sealed) << "nobody touches what is to be adopted";
  EXPECT_TRUE(steps_on_disk().empty());
  next_b.trainer.persist(left_b[0]);  // one that did not adopt it
  ASSERT_TRUE(wait_for(Say::durable, 6));
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{6});
  EXPECT_TRUE(next_b.save(7, false));
}

TEST_F(HolderTest, TheOnlyCopyIsNotGivenAway) {
  start();
  // One rank of two: the holder has no whole step to write, so nobody but this test unpins it.
  {
    Rank dead(options(0, 2));
    ASSERT_TRUE(dead.save(5, false));
  }
  Rank next(options(0, 2));
  const auto left = next.trainer.left_behind(kLongNs);
  ASSERT_EQ(left.size(), 1U);
  ASSERT_TRUE(next.trainer.plan({{{"w", DType::u8, {next.memory.size()}, {0}}, true}}, 2).ok());
  ASSERT_TRUE(left[0].slot->try_pin()) << "it is on its way to the disk";
  const auto live = next.trainer.adopt(left[0]);
  ASSERT_NE(live, nullptr);
  EXPECT_NE(live, left[0].slot);
  EXPECT_EQ(left[0].slot->state(), SlotState::pinned);
  EXPECT_TRUE(std::equal(live->image().begin() + 4096, live->image().begin() + 9'000'000,
                         left[0].slot->image().begin() + 4096));
  left[0].slot->unpin();
}

TEST_F(HolderTest, TheNextHolderGoesOnWhereOneDied) {
  start();
  Rank a(options(0, 2));
  Rank b(options(1, 2));
  ASSERT_TRUE(a.save(1, true));
  // As if killed: its end finds other names than the slots still have afterwards.
  const std::string shm = dir_.path() + "/shm";
  const std::filesystem::path kept = dir_.path() + "/kept";
  std::filesystem::create_directory(kept);
  for (const auto& file : std::filesystem::directory_iterator(shm)) {
    if (!file.is_regular_file()) continue;
    std::filesystem::create_hard_link(file, kept / file.path().filename());
  }
  stop();
  std::filesystem::remove_all(shm);
  std::filesystem::rename(kept, shm);
  start();
  ASSERT_TRUE(b.save(1, true)) << "trainers connect again by themselves";
  ASSERT_TRUE(wait_for(Say::durable, 1));
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{1});
}

TEST_F(HolderTest, MoreMemoryThanThereIsIsRefusedWithAReason) {
  start();
  Trainer trainer(options(0, 1), 1);
  ASSERT_TRUE(trainer.plan({{{"w", DType::u8, {std::uint64_t{1} << 42}, {0}}, true}}, 2).ok());
  EXPECT_FALSE(trainer.wait_for_slot(kLongNs));
  EXPECT_EQ(trainer.begin(), nullptr);
  EXPECT_NE(trainer.refusal().find("the replica of rank 0 needs 2 x 4096.0 GiB of memory"),
            std::string::npos)
      << trainer.refusal();
}

TEST_F(HolderTest, TheSecondHolderIsRefused) {
  start();
  HolderOptions again;
  again.folder = dir_.path() + "/shm";
  const auto second = Holder::open(std::move(again));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            dir_.path() + "/shm: another process holds the replicas in it");
}

TEST_F(HolderTest, ADiskThatFailsIsToldAndTheReplicaStays) {
  start();
  Rank rank(options(0, 1));
  ASSERT_TRUE(rank.save(1, false));
  std::filesystem::remove_all(folder_.path());
  dir_.write("checkpoints", "a file where a folder was");
  ASSERT_TRUE(rank.save(2, true));
  ASSERT_TRUE(wait_for(Say::failed, 2));
  stop();
  const std::lock_guard lock(mutex_);
  EXPECT_NE(news_[0].text.find(folder_.path()), std::string::npos) << news_[0].text;
  EXPECT_FALSE(ended_.ok());
  EXPECT_TRUE(std::filesystem::exists(dir_.path() + "/shm")) << "it is the only copy";
}

TEST_F(HolderTest, WhoCannotBeServedIsToldAtOnce) {
  dir_.write("file", "x");
  start();
  auto to = options(0, 1);
  to.hello.folder = dir_.path() + "/file/checkpoints";
  Rank rank(to);
  EXPECT_FALSE(rank.save(1, true));
  EXPECT_NE(rank.trainer.refusal().find(dir_.path() + "/file"), std::string::npos)
      << rank.trainer.refusal();
}

TEST_F(HolderTest, AFolderBelongsToOneJob) {
  start();
  ASSERT_TRUE(Rank(options(0, 1)).save(1, true));
  const auto other = checkpoint::FolderLock::take(folder_.path(), "test");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("in use by the job test, pid"), std::string::npos)
      << other.status().message();
}

// Whoever cuts the files of shared memory short must not take a trainer with it, nor the holder.
TEST_F(HolderTest, SlotsThatSomebodyCutOrRemovedAreReplaced) {
  start();
  Rank rank(options(0, 1));
  ASSERT_TRUE(rank.save(1, true));
  ASSERT_TRUE(wait_for(Say::durable, 1));
  std::uint64_t step = 1;
  for (const bool cut : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(wait_until_it_sleeps());
    for (const auto& file : std::filesystem::directory_iterator(dir_.path() + "/shm")) {
      if (file.path().filename().string().find(".slot-") == std::string::npos) continue;
      if (cut) {
        std::filesystem::resize_file(file.path(), 0);
      } else {
        std::filesystem::remove(file.path());
      }
    }
    ASSERT_TRUE(rank.save(++step, true)) << rank.trainer.refusal();
    ASSERT_TRUE(wait_for(Say::durable, step));
  }
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{3, 2, 1}));
}

// While it is written, too: then it is written once, or not at all, and in no case for ever.
TEST_F(HolderTest, ASlotThatIsRemovedWhileItIsWrittenIsNotWrittenAgain) {
  start();
  Rank rank(options(0, 1));
  for (std::uint64_t step = 1; step <= 20; ++step) {
    ASSERT_TRUE(rank.save(step, true)) << rank.trainer.refusal();
    std::this_thread::sleep_for(std::chrono::microseconds(step * 500));
    for (const auto& file : std::filesystem::directory_iterator(dir_.path() + "/shm")) {
      if (file.path().filename().string().find(".slot-") == std::string::npos) continue;
      std::filesystem::remove(file.path());
    }
  }
  ASSERT_TRUE(rank.save(21, true)) << rank.trainer.refusal();
  ASSERT_TRUE(wait_for(Say::durable, 21));
  stop();
  const auto steps = steps_on_disk();
  EXPECT_EQ(std::set(steps.begin(), steps.end()).size(), steps.size()) << "each of them once";
}

// One rank's part of a step is lost before the other's is there: nobody waits for it for ever.
TEST_F(HolderTest, AStepThatLostAPartIsToldAsFailed) {
  start();
  Rank a(options(0, 2));
  ASSERT_TRUE(a.save(1, true));
  Rank b(options(1, 2));
  (void)b.trainer.left_behind(kLongNs);  // the holder has looked at all slots by now
  const auto pinned = a.trainer.left_behind(0);
  ASSERT_EQ(pinned.size(), 1U);
  ASSERT_NO_FATAL_FAILURE(wait_until_it_sleeps());
  std::filesystem::resize_file(pinned[0].slot->path(), 0);
  b.trainer.look();  // it wakes up
  ASSERT_TRUE(wait_for(Say::failed, 1));
  ASSERT_TRUE(a.save(2, true));
  ASSERT_TRUE(b.save(2, true));
  ASSERT_TRUE(wait_for(Say::durable, 2));
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{2});
}

// A folder that was removed and made anew is another one, which another job could take.
TEST_F(HolderTest, TheLockGoesWithTheFolder) {
  start();
  Rank rank(options(0, 1));
  ASSERT_TRUE(rank.save(1, true));
  ASSERT_TRUE(wait_for(Say::durable, 1));
  std::filesystem::remove_all(folder_.path());
  ASSERT_TRUE(rank.save(2, true));
  ASSERT_TRUE(wait_for(Say::durable, 2));
  EXPECT_EQ(steps_on_disk(), std::vector<std::uint64_t>{2});
  EXPECT_FALSE(checkpoint::FolderLock::take(folder_.path(), "test").ok());
  std::filesystem::remove_all(folder_.path());
  std::filesystem::create_directory(folder_.path());
  {
    const auto other = checkpoint::FolderLock::take(folder_.path(), "another job");
    ASSERT_TRUE(other.ok());
    ASSERT_TRUE(rank.save(3, true));
    ASSERT_TRUE(wait_for(Say::failed, 3));
    EXPECT_TRUE(steps_on_disk().empty()) << "it is the other one's now";
  }
  ASSERT_TRUE(rank.save(4, true));
  ASSERT_TRUE(wait_for(Say::durable, 4));
  const std::lock_guard lock(mutex_);
  const auto failed = std::find_if(news_.begin(), news_.end(),
                                   [](const Message& m) { return m.say == Say::failed; });
  EXPECT_NE(failed->text.find("in use by another job"), std::string::npos) << failed->text;
}

// Whoever removes a folder after the training has ended does not find it again.
TEST_F(HolderTest, AFolderThatWasRemovedIsNotMadeAgainForNobody) {
  for (const bool another : {false, true}) {
    start();
    {
      Rank rank(options(0, 1));
      ASSERT_TRUE(rank.save(1, true));
      ASSERT_TRUE(wait_for(Say::durable, 1));
      ASSERT_TRUE(rank.save(2, false));
    }
    std::filesystem::remove_all(folder_.path());
    if (another) std::filesystem::create_directory(folder_.path());
    stop();
    EXPECT_EQ(std::filesystem::exists(folder_.path()), another);
    EXPECT_TRUE(steps_on_disk().empty());
    EXPECT_NE(ended_.message().find("somebody has removed it"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(dir_.path() + "/shm")) << "it is the only copy";
    std::filesystem::remove_all(dir_.path() + "/shm");
    std::filesystem::remove_all(folder_.path());
    news_.clear();
  }
}

// News that a trainer missed while it had no holder come when it connects again.
TEST_F(HolderTest, WhoComesLateIsToldToo) {
  start();
  Rank rank(options(0, 1));
  ASSERT_TRUE(rank.save(1, true));
  ASSERT_TRUE(wait_for(Say::durable, 1));
  {
    const std::lock_guard lock(mutex_);
    news_.clear();
  }
  const Link again(options(0, 1));
  EXPECT_TRUE(wait_for(Say::durable, 1));
}

TEST_F(HolderTest, OldOnesGoWhenTheyAreTooMany) {
  start();
  auto to = options(0, 1);
  to.hello.keep_last = 2;
  Rank rank(to);
  for (const std::uint64_t step : {1, 2, 3, 4}) {
    ASSERT_TRUE(rank.save(step, true));
    ASSERT_TRUE(wait_for(Say::durable, step));
  }
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{4, 3}));
}

TEST_F(HolderTest, WhatATrainerFoundDamagedPushesNothingOut) {
  start();
  auto to = options(0, 1);
  to.hello.keep_last = 2;
  {
    Rank rank(to);
    for (const std::uint64_t step : {1, 2}) {
      ASSERT_TRUE(rank.save(step, true));
      ASSERT_TRUE(wait_for(Say::durable, step));
    }
    rank.trainer.found_damaged({"step-00000002-000002"});
    ASSERT_TRUE(rank.save(3, true));
    ASSERT_TRUE(wait_for(Say::durable, 3));
    EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{3, 2, 1}));
  }
  to.hello.attempt = 2;
  Rank successor(to);
  ASSERT_TRUE(successor.save(4, true));
  ASSERT_TRUE(wait_for(Say::durable, 4));
  EXPECT_EQ(steps_on_disk(), (std::vector<std::uint64_t>{4, 3, 2})) << "who goes on from memory";
}

}  // namespace
}  // namespace headway::replica
