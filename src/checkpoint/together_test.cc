// Machines that write one checkpoint together: what each sees of the others.
#include "checkpoint/together.h"

#include <gtest/gtest.h>

#include "checkpoint/test_together.h"

namespace headway::checkpoint {
namespace {

using base::SimFileSystem;

std::size_t count_with(const SimFileSystem& files, const std::string& part) {
  std::size_t count = 0;
  for (const auto& [path, content] : files.contents())
    count += path.find(part) != std::string::npos;
  return count;
}

TEST(Together, NamesOfFolders) {
  for (const PartsName& name : {PartsName{1, 20, false, 0}, PartsName{65537, 3, true, ~0ULL}}) {
    EXPECT_EQ(PartsName::parse(name.text()), name) << name.text();
  }
  EXPECT_EQ((PartsName{1, 20, true, 255}).text(), ".parts-1-20-00000000000000ff-end");
  for (const char* text : {".parts-", ".parts-1-2", ".parts-1-2-ff", ".parts-1-2-00000000000000ff-",
                           ".parts-01-2-00000000000000ff", "parts-1-2-00000000000000ff"}) {
    EXPECT_FALSE(PartsName::parse(text)) << text;
  }
}

TEST(Together, OneCheckpointOfAllPartsAndNothingElse) {
  for (const bool leader_first : {false, true}) {
    const auto files = together_disk();
    const Told told = save_together(*files, 10, leader_first);
    EXPECT_TRUE(told.leader && told.follower);
    EXPECT_EQ(together_found(*files), 10U);
    EXPECT_EQ(count_with(*files, "/step-00000010-000001/"), 1 + together_ranks + 1);
    EXPECT_EQ(count_with(*files, ".parts"), 0U);
  }
}

TEST(Together, WhoComesAfterOneThatDiedGoesOn) {
  const auto files = together_disk();
  Machine(*files, 10, 1, 2).prepare();  // and dies
  Machine(*files, 10, 0, 1).prepare();
  const std::size_t calls = files->calls();
  Machine leader(*files, 10, 0, 1);
  leader.prepare();
  EXPECT_TRUE(leader.durable) << "both parts were there";
  EXPECT_LT(files->calls() - calls, 60U) << "nothing is written again";
  Machine follower(*files, 10, 1, 2);
  follower.prepare();
  EXPECT_TRUE(follower.durable);
  EXPECT_EQ(count_with(*files, ".parts"), 0U) << "who comes late makes no folder";
  EXPECT_EQ(together_found(*files), 10U);
}

TEST(Together, AHalfWrittenFileIsWrittenAgain) {
  const auto files = together_disk();
  Machine dead(*files, 10, 1, 2);
  ASSERT_TRUE(dead.together().begin(1).ok());
  ASSERT_TRUE(dead.together().add(together_file(1)).ok());
  EXPECT_TRUE(save_together(*files, 10, true).follower);
  EXPECT_EQ(together_found(*files), 10U);
}

// Attempts that were counted anew, after somebody removed the record of the job.
TEST(Together, PartsOfAnotherRunAreNotMixedIn) {
  const auto files = together_disk();
  Machine(*files, 10, 1, 2, 6).prepare();
  Machine leader(*files, 10, 0, 1, 7);
  leader.prepare();
  leader.look();
  EXPECT_FALSE(leader.durable) << "the other run's part is no part of this one";
  EXPECT_EQ(leader.together().missing(), "rank 1 and 1 more");
  EXPECT_EQ(count_with(*files, "0006"), 0U) << "and is taken away";
  EXPECT_TRUE(save_together(*files, 10, false).leader);
}

TEST(Together, APartOfAnotherStateIsNotTakenForOurs) {
  const auto files = together_disk();
  CheckpointFolder folder(*files, together_folder);
  Manifest other = together_part(10, 1, 2);
  other.files[0].crc32c[0] ^= 1;
  Together stale(folder, {1, 10, false, 7}, other);
  ASSERT_TRUE(stale.begin(1).ok());
  ASSERT_TRUE(stale.publish().ok());
  Machine follower(*files, 10, 1, 2);
  EXPECT_FALSE(follower.together().is_published());
  EXPECT_TRUE(save_together(*files, 10, false).leader);
  EXPECT_EQ(together_found(*files), 10U);
}

TEST(Together, OneThatGivesUpGivesUpForAll) {
  for (const std::uint32_t first : {0U, 1U}) {
    const auto files = together_disk();
    Machine other(*files, 10, 1 - first, 1);
    if (first == 0) other.prepare();
    Machine gives_up(*files, 10, first, 1);
    ASSERT_TRUE(gives_up.together().begin(1).ok());
    gives_up.together().fail(true);
    other.prepare();
    other.look();
    EXPECT_TRUE(other.failed) << first;
    EXPECT_NE(other.why.find("has no room for it"), std::string::npos) << other.why;
    Machine late(*files, 10, 2, 1);
    late.prepare();
    EXPECT_TRUE(late.failed) << "also for who comes later";
    EXPECT_TRUE(save_together(*files, 20, true).follower);
    EXPECT_EQ(count_with(*files, ".parts"), 0U) << "what is left goes with the next one";
  }
}

TEST(Together, WhatIsWaitedForHasToShowThatItLives) {
  const auto files = together_disk();
  Machine leader(*files, 10, 0, 1);
  Machine writes(*files, 10, 1, 1);
  Machine waits(*files, 10, 2, 1);
  leader.prepare();
  ASSERT_TRUE(writes.together().begin(1).ok());
  waits.prepare();
  const auto changes = [](Machine& who, Machine& lives) {
    who.look();
    const std::string before = who.together().signs();
    lives.together().beat();
    who.look();
    return who.together().signs() != before;
  };
  EXPECT_TRUE(changes(leader, writes));
  EXPECT_FALSE(changes(leader, waits)) << "its part is there";
  EXPECT_FALSE(changes(leader, leader));
  EXPECT_TRUE(changes(waits, leader));
  EXPECT_FALSE(changes(waits, writes)) << "two followers must not keep each other waiting";
  EXPECT_EQ(leader.together().missing(), "rank 1");
}

TEST(Together, WhatAllHave) {
  const auto files = together_disk();
  CheckpointFolder folder(*files, together_folder);
  const PartsName name{1, 10, true, 7};
  EXPECT_FALSE(Together::all_have(folder, name, together_ranks).value());
  ASSERT_TRUE(Together::tell_have(folder, name, together_part(10, 1, 2)).ok());
  ASSERT_TRUE(Together::tell_have(folder, name, together_part(10, 1, 2)).ok()) << "once more";
  EXPECT_FALSE(Together::all_have(folder, name, together_ranks).value());
  ASSERT_TRUE(Together::tell_have(folder, name, together_part(10, 0, 1)).ok());
  EXPECT_TRUE(Together::all_have(folder, name, together_ranks).value());
  Together::untell_have(folder, name, together_part(10, 1, 2));
  EXPECT_FALSE(Together::all_have(folder, name, together_ranks).value());
  Together::untell_have(folder, name, together_part(10, 0, 1));
  EXPECT_EQ(count_with(*files, ".parts"), 0U);
}

TEST(Together, AJobOfOneMachineTakesTheRestAway) {
  const auto files = together_disk();
  Machine(*files, 10, 1, 2).prepare();
  CheckpointFolder folder(*files, together_folder);
  Manifest facts;
  facts.step = 5;
  ASSERT_TRUE(Draft::begin(folder, facts).ok());
  EXPECT_EQ(count_with(*files, ".parts"), 0U);
}

}  // namespace
}  // namespace headway::checkpoint
