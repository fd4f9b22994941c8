#include "cluster/drain_core.h"

#include <gtest/gtest.h>

#include "cluster/limits.h"

namespace headway::cluster {
namespace {

std::uint64_t proposed(const DrainCore::Word& word) {
  return word && std::holds_alternative<DrainCore::ProposeStep>(*word)
             ? std::get<DrainCore::ProposeStep>(*word).step
             : 0;
}
std::uint64_t final_step(const DrainCore::Word& word) {
  return word && std::holds_alternative<DrainCore::FinalStep>(*word)
             ? std::get<DrainCore::FinalStep>(*word).step
             : 0;
}

TEST(DrainCore, TheHighestBoundaryAndAMarginIsProposedAndAccepted) {
  DrainCore drain(2);
  EXPECT_TRUE(drain.begin(3));
  EXPECT_FALSE(drain.begin(3)) << "one at a time";
  EXPECT_FALSE(drain.on_boundary(0, 10));
  EXPECT_FALSE(drain.on_boundary(0, 99)) << "an answer counts once";
  EXPECT_FALSE(drain.on_boundary(2, 12));
  EXPECT_EQ(proposed(drain.on_boundary(1, 11)), 14U);
  EXPECT_FALSE(drain.on_accept(0, 14));
  EXPECT_FALSE(drain.on_accept(1, 13)) << "not what was proposed";
  EXPECT_FALSE(drain.on_accept(1, 14));
  EXPECT_FALSE(drain.agreed());
  EXPECT_EQ(final_step(drain.on_accept(2, 14)), 14U);
  EXPECT_TRUE(drain.agreed());
  EXPECT_EQ(final_step(drain.current()), 14U);
}

TEST(DrainCore, AProposalThatCameTooLateIsRaisedWithAWiderMargin) {
  DrainCore drain(2);
  drain.begin(2);
  drain.on_boundary(0, 10);
  EXPECT_EQ(proposed(drain.on_boundary(1, 10)), 12U);
  EXPECT_FALSE(drain.on_raise(0, 15)) << "the other may be further still";
  EXPECT_EQ(proposed(drain.on_raise(1, 17)), 21U);
  EXPECT_FALSE(drain.on_raise(0, 20)) << "an answer to the proposal before";
  drain.on_accept(0, 21);
  EXPECT_EQ(final_step(drain.on_accept(1, 21)), 21U);
}

TEST(DrainCore, AnAcceptanceBesideARaiseIsAskedForAgain) {
  DrainCore drain(1);
  drain.begin(2);
  drain.on_boundary(0, 5);
  EXPECT_EQ(proposed(drain.on_boundary(1, 5)), 6U);
  drain.on_accept(0, 6);
  EXPECT_EQ(proposed(drain.on_raise(1, 6)), 8U);
  EXPECT_FALSE(drain.on_accept(1, 8));
  EXPECT_EQ(final_step(drain.on_accept(0, 8)), 8U);
}

TEST(DrainCore, WhoHasFinishedAgreesWithEverything) {
  DrainCore drain(2);
  drain.begin(2);
  drain.on_boundary(0, 5);
  EXPECT_EQ(proposed(drain.on_finished(1)), 7U);
  EXPECT_EQ(final_step(drain.on_accept(0, 7)), 7U);
}

TEST(DrainCore, ItIsAbandonedWhenNoProposalHolds) {
  DrainCore endless(1);
  endless.begin(1);
  std::uint64_t step = proposed(endless.on_boundary(0, 1));
  for (std::uint32_t i = 1; i < DrainCore::proposals_max; ++i) {
    step = proposed(endless.on_raise(0, step));
    ASSERT_GT(step, 0U);
  }
  EXPECT_FALSE(endless.on_raise(0, step));
  EXPECT_FALSE(endless.agreed());

  DrainCore far(2);
  far.begin(1);
  EXPECT_FALSE(far.on_boundary(0, step_max));
}

}  // namespace
}  // namespace headway::cluster
