#include "replica/choose.h"

#include <gtest/gtest.h>

namespace headway::replica {
namespace {

// Slots are told apart by their addresses only: nothing looks into them.
std::shared_ptr<Slot> slot(std::uintptr_t number) {
  return {std::shared_ptr<void>(), reinterpret_cast<Slot*>(number)};
}

Held held(std::uint64_t attempt, std::uint64_t step, bool pinned, std::uintptr_t number = 1) {
  Held one{slot(number), pinned, {}};
  one.facts.attempt = attempt;
  one.facts.step = step;
  return one;
}

TEST(Choose, OnlyWhatAllRanksHaveCounts) {
  const HeldByRank both = {{0, {held(1, 10, true), held(1, 20, true)}},
                           {1, {held(1, 20, true), held(1, 30, false)}}};
  ASSERT_TRUE(next_to_persist(both, 2));
  EXPECT_EQ(next_to_persist(both, 2)->step, 20U);
  EXPECT_EQ(whole_steps(both, 2).front().step, 20U);
  EXPECT_FALSE(next_to_persist(both, 3)) << "a third rank has said nothing";
  EXPECT_TRUE(whole_steps({}, 1).empty());
}

TEST(Choose, TheOldestIsWrittenFirstAndTheNewestIsGoneOnFrom) {
  const HeldByRank one = {{0, {held(1, 30, false), held(1, 20, true), held(1, 10, true)}}};
  EXPECT_EQ(next_to_persist(one, 1)->step, 10U);
  EXPECT_EQ(whole_steps(one, 1).front().step, 30U);
}

TEST(Choose, WhatAHolderHadHalfLetGoIsWrittenAgain) {
  const HeldByRank half = {{0, {held(1, 10, false)}}, {1, {held(1, 10, true)}}};
  ASSERT_TRUE(next_to_persist(half, 2)) << "else rank 1's would be pinned for ever";
  EXPECT_EQ(next_to_persist(half, 2)->slots.size(), 2U);
  const HeldByRank none = {{0, {held(1, 10, false)}}, {1, {held(1, 10, false)}}};
  EXPECT_FALSE(next_to_persist(none, 2));
}

TEST(Choose, WhatIsBeingTakenOverIsWrittenWhenAllHaveCopiedIt) {
  const Held original = held(1, 10, false, 5);
  const Held copy = held(1, 10, true, 6);
  const HeldByRank half = {{0, {copy}}, {1, {original}}};
  EXPECT_FALSE(next_to_persist(half, 2, 2)) << "rank 1 would wait for the disk with its first step";
  EXPECT_TRUE(lost_causes(half, 2, 2).empty()) << "and rank 0's stays pinned for it";
  EXPECT_TRUE(next_to_persist(half, 2, 1)) << "the same attempt takes nothing over";
  EXPECT_TRUE(next_to_persist(half, 2)) << "nobody trains";
  for (const bool first : {false, true}) {  // in whatever order they lie
    HeldByRank both = half;
    both[1].insert(first ? both[1].begin() : both[1].end(), copy);
    const auto choice = next_to_persist(both, 2, 2);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->slots.at(1), slot(6)) << "the original is about to be a trainer's memory";
  }
  HeldByRank beyond = half;
  for (const std::uint32_t rank : {0U, 1U}) beyond[rank].push_back(held(2, 11, true, 7));
  EXPECT_EQ(next_to_persist(beyond, 2, 2)->step, 10U) << "they train on: nobody takes it over";
}

Held rows(std::uint64_t step, std::uint64_t since, bool pinned, std::uintptr_t number) {
  Held one = held(1, step, pinned, number);
  one.facts.sequence = step;
  one.facts.since = since;
  return one;
}

// A holder died when the rows of one rank, or of both, were in their images and their slots were
// not cleared yet.
TEST(Choose, RowsThatAreInTheirImageAlreadyAreDoneWithTheOthers) {
  const HeldByRank half = {{0, {rows(5, 0, false, 1), rows(5, 4, true, 2)}},
                           {1, {rows(4, 0, false, 3), rows(5, 4, true, 4)}}};
  EXPECT_FALSE(next_to_persist(half, 2));
  auto next = next_rows(half, 2);
  ASSERT_TRUE(next && next->waiting && next->pinned) << "else rank 1 would stay at step 4";
  EXPECT_EQ(next->images.at(0), slot(1));
  EXPECT_EQ(next->images.at(1), slot(3));
  for (const bool pinned : {false, true}) {
    const HeldByRank both = {{0, {rows(5, 0, pinned, 1), rows(5, 4, true, 2)}},
                             {1, {rows(5, 0, pinned, 3), rows(5, 4, true, 4)}}};
    const auto whole = next_to_persist(both, 2);
    EXPECT_EQ(whole.has_value(), pinned) << "rows alone do not make it write the image for ever";
    next = next_rows(both, 2);
    EXPECT_EQ(next.has_value(), !pinned);
    if (next) {
      EXPECT_TRUE(next->pinned && !next->waiting);
    }
    if (whole) {
      EXPECT_EQ(rows_in(both, *whole), (std::vector{slot(2), slot(4)}));
    }
  }
}

// A holder was killed between putting rows away and clearing them.
TEST(Choose, RowsWaitBehindSomeThatAreInTheImage) {
  HeldByRank all = {{0, {rows(5, 0, false, 1), rows(5, 4, true, 2)}}};
  EXPECT_FALSE(rows_wait(all, 1));
  all[0].push_back(rows(6, 5, true, 3));
  EXPECT_FALSE(next_rows(all, 1)->waiting) << "those of step 5 come first";
  EXPECT_TRUE(rows_wait(all, 1)) << "else a successor would go on from step 5";
}

TEST(Choose, ALaterAttemptIsNewerWhateverItsStep) {
  const HeldByRank one = {{0, {held(1, 30, false), held(2, 12, false)}}};
  EXPECT_EQ(whole_steps(one, 1).front().step, 12U);
  const HeldByRank mixed = {{0, {held(1, 30, true)}}, {1, {held(2, 30, true)}}};
  EXPECT_FALSE(next_to_persist(mixed, 2)) << "the same step of two attempts is no checkpoint";
}

TEST(Choose, WhatCannotBecomeWholeIsLetGo) {
  const HeldByRank apart = {{0, {held(1, 3, true, 5), held(1, 4, true, 6)}},
                            {1, {held(1, 4, true, 7)}}};
  EXPECT_EQ(lost_causes(apart, 2, 1), std::vector{slot(5)}) << "rank 1 has passed step 3 by";
  const HeldByRank early = {{0, {held(1, 3, true, 5)}}, {1, {held(1, 2, true, 7)}}};
  EXPECT_EQ(lost_causes(early, 2, 1), std::vector{slot(7)}) << "rank 1 may still get to step 3";
  EXPECT_EQ(lost_causes(early, 2, 2).size(), 2U) << "nobody goes on with that attempt";
  const HeldByRank whole = {{0, {held(1, 3, true, 5)}}};
  EXPECT_TRUE(lost_causes(whole, 1, 9).empty()) << "it can be written";
}

TEST(Choose, OfAStepThatWasSavedTwiceTheLaterOneIsWrittenOnce) {
  HeldByRank twice = {{0, {held(1, 5, true, 6), held(1, 5, true, 7)}}};
  twice[0][0].facts.sequence = 9;
  twice[0][1].facts.sequence = 8;
  const auto choice = next_to_persist(twice, 1);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->slots.at(0), slot(6));
  EXPECT_EQ(superseded(twice, *choice), std::vector{slot(7)})
      << "else it would be written for ever";
  twice[0][0].facts.sequence = 7;
  EXPECT_EQ(next_to_persist(twice, 1)->slots.at(0), slot(7));
  EXPECT_TRUE(superseded(twice, *choice).empty()) << "a later one came while it was written";
}

TEST(Choose, RowsAreCutOffWhenWhatCameBeforeThemIsNowhere) {
  // 5 and 6 follow the image, 8 follows nothing, and 9 only that.
  const HeldByRank gap = {{0,
                           {rows(9, 8, true, 4), rows(4, 0, false, 1), rows(6, 5, false, 2),
                            rows(5, 4, false, 3), rows(8, 7, false, 5)}}};
  const auto cut_off = cut_off_rows(gap);
  ASSERT_EQ(cut_off.size(), 1u);
  EXPECT_EQ(cut_off.at(0), (std::vector{slot(5), slot(4)}));
  // In the image already: a holder died before it had cleared their slot.
  EXPECT_TRUE(cut_off_rows({{0, {rows(5, 0, false, 1), rows(5, 4, true, 2)}}}).empty());
  // Being put into it.
  Held applying = rows(4, 0, false, 1);
  applying.applying = true;
  EXPECT_TRUE(cut_off_rows({{0, {applying, rows(5, 4, true, 2), rows(6, 5, true, 3)}}}).empty());
  EXPECT_EQ(cut_off_rows({{3, {rows(5, 4, true, 2)}}}).size(), 1u) << "there is no image at all";
}

}  // namespace
}  // namespace headway::replica
