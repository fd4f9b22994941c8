#include "replica/rank_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/temp_dir.h"

namespace headway::replica {
namespace {

constexpr std::uint64_t kPage = 4096;

std::shared_ptr<Slot> add_slot(RankSlots& slots, std::uint64_t bytes) {
  const std::string path = slots.new_paths(1).front();
  auto made = allocate_slots({{path, bytes}}, [] { return true; });
  EXPECT_TRUE(made.ok()) << made.status().message();
  slots.add(*made);
  return made->front();
}

void seal(Slot& slot, std::uint64_t sequence, std::uint64_t since) {
  ASSERT_TRUE(slot.try_begin());
  SlotFacts facts;
  facts.sequence = sequence;
  facts.since = since;
  slot.seal(facts, false);
}

TEST(RankSlots, AnImageThatIsTooSmallIsNoRoomForRows) {
  const base::TempDir dir;
  RankSlots slots(dir.path(), 0);
  const auto old_image = add_slot(slots, 8 * kPage);
  seal(*old_image, 1, 0);
  const auto rows = add_slot(slots, 4 * kPage);
  seal(*rows, 2, 1);
  add_slot(slots, 4 * kPage);
  const RankSlots::Sizes sizes{.image = 16 * kPage, .rows = 4 * kPage};
  EXPECT_EQ(slots.usable(sizes).images, 0u);
  EXPECT_EQ(slots.usable(sizes).rows, 2u) << "the one with rows, and the empty one";
  slots.drop_unfit(sizes, false);
  EXPECT_EQ(slots.all().size(), 3u) << "it may be all there is";
  slots.drop_unfit(sizes, true);
  EXPECT_EQ(slots.all().size(), 2u) << "a newer one is on disk";
  EXPECT_EQ(old_image->state(), SlotState::gone);
  EXPECT_FALSE(old_image->is_intact());
}

TEST(RankSlots, WhatIsWrittenStays) {
  const base::TempDir dir;
  RankSlots slots(dir.path(), 0);
  const auto written = add_slot(slots, 4 * kPage);
  ASSERT_TRUE(written->try_begin());
  const RankSlots::Sizes sizes{.image = 16 * kPage, .rows = 8 * kPage};
  slots.drop_unfit(sizes, true);
  EXPECT_TRUE(written->is_intact());
  slots.writer_died();
  slots.drop_unfit(sizes, true);
  EXPECT_FALSE(written->is_intact());
}

TEST(RankSlots, AHolderThatDiedOverARemovalIsFollowedByOneThatRemoves) {
  const base::TempDir dir;
  {
    RankSlots slots(dir.path(), 0);
    ASSERT_TRUE(add_slot(slots, kPage)->try_remove(SlotState::empty));
    add_slot(slots, kPage);
  }
  RankSlots after(dir.path(), 0);
  after.take_over();
  EXPECT_EQ(after.all().size(), 1u);
}

// A trainer takes a slot at the moment in which the holder removes it: one of them is first, and
// what the trainer has sealed is never in a file that is gone.
TEST(RankSlots, NobodySealsWhatIsRemoved) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  int begun = 0;
  for (int round = 0; round < 400; ++round) {
    const base::TempDir dir;
    RankSlots slots(dir.path(), 0);
    const auto slot = add_slot(slots, kPage);
    std::atomic<int> ready = 0;
    const auto together = [&ready] {
      ++ready;
      while (ready < 2) {
      }
    };
    const int delay = static_cast<int>(random() % 200);
    bool sealed = false;
    std::thread trainer([&] {
      together();
      for (std::atomic<int> i = 0; i < delay;) ++i;
      if (!slot->try_begin()) return;
      slot->seal({}, false);
      sealed = true;
    });
    together();
    slots.drop_unfit({.image = 2 * kPage, .rows = 0}, false);
    trainer.join();
    ASSERT_EQ(sealed, slot->is_intact()) << "seed " << seed << ", round " << round;
    begun += sealed ? 1 : 0;
  }
  RecordProperty("begun", begun);
}

}  // namespace
}  // namespace headway::replica
