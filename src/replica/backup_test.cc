#include "replica/backup.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "replica/test_slots.h"

namespace headway::replica {
namespace {

constexpr std::int64_t kLongNs = 60'000'000'000;
constexpr std::uint64_t kBytes = 40 << 20;

class BackupTest : public testing::Test {
 protected:
  void SetUp() override {
    facts_.step = 120;
    from_ = filled_slot(dir_, facts_, kBytes, team_);
    from_->unpin();
    facts_ = from_->facts().value();
    auto other = Slot::create(dir_.path() + "/to", from_->capacity());
    ASSERT_TRUE(other.ok());
    to_ = *other;
    ASSERT_TRUE(to_->allocate([] { return true; }).ok());
    ASSERT_TRUE(to_->try_begin());
  }
  // As it was when it was sealed.
  void again() {
    from_->clear();
    ASSERT_TRUE(from_->try_begin());
    from_->seal(facts_, false);
    ASSERT_TRUE(to_->try_begin());
  }

  base::TempDir dir_;
  CopyTeam team_{1};
  std::shared_ptr<Slot> from_, to_;
  SlotFacts facts_;
};

TEST_F(BackupTest, TheCopyIsTheSameStep) {
  Backup backup(from_, facts_, to_);
  ASSERT_TRUE(backup.wait(kLongNs));
  EXPECT_TRUE(backup.kept());
  EXPECT_EQ(from_->state(), SlotState::live);
  ASSERT_EQ(to_->facts(), facts_);
  EXPECT_TRUE(to_->verify(facts_, team_).ok());
  EXPECT_EQ(to_->state(), SlotState::sealed);
}

TEST_F(BackupTest, TheCopyMayBeOnItsWayToTheDiskAtOnce) {
  Backup backup(from_, facts_, to_, true);
  ASSERT_TRUE(backup.wait(kLongNs)) << "the step's own memory waits for no disk";
  EXPECT_EQ(from_->state(), SlotState::live);
  EXPECT_EQ(to_->state(), SlotState::pinned);
  EXPECT_EQ(to_->facts(), facts_);
}

TEST_F(BackupTest, WhatIsOnItsWayToTheDiskIsWaitedFor) {
  ASSERT_TRUE(from_->try_pin());
  Backup backup(from_, facts_, to_);
  EXPECT_FALSE(backup.wait(300'000'000));
  EXPECT_EQ(from_->state(), SlotState::pinned);
  from_->unpin();
  ASSERT_TRUE(backup.wait(kLongNs));
  EXPECT_TRUE(backup.kept());
}

#if !defined(__SANITIZE_THREAD__)  // the race is what is tried
// Whenever a byte is changed: there is a copy of the step as it was, or none, never a mixture.
TEST_F(BackupTest, WhatIsChangedTooEarlyIsNoCopy) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  int kept = 0;
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t at = 4096 + random() % (kBytes - 8192);
    const std::byte before = from_->image()[at];
    {
      Backup backup(from_, facts_, to_);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
      from_->image()[at] = before ^ std::byte{1};
      ASSERT_TRUE(backup.wait(kLongNs));
      EXPECT_EQ(from_->state(), SlotState::live);
      if (backup.kept()) {
        ++kept;
        ASSERT_EQ(to_->facts(), facts_);
        ASSERT_TRUE(to_->verify(facts_, team_).ok());
        ASSERT_EQ(to_->image()[at], before);
      } else {
        ASSERT_EQ(to_->state(), SlotState::empty);
      }
    }
    from_->image()[at] = before;
    again();
  }
  std::printf("seed %u, kept %d of 40\n", static_cast<unsigned>(seed), kept);
}
#endif

TEST_F(BackupTest, WhoEndsDoesNotWaitForIt) {
  ASSERT_TRUE(from_->try_pin());
  {
    const Backup backup(from_, facts_, to_);
  }
  EXPECT_NE(to_->state(), SlotState::pinned);
}

}  // namespace
}  // namespace headway::replica
