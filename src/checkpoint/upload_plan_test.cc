#include "checkpoint/upload_plan.h"

#include <gtest/gtest.h>

#include <map>

namespace headway::checkpoint {
namespace {

LocalCheckpoint local(std::uint64_t step, std::uint64_t sequence, bool anchor = false) {
  return {{step, sequence}, "manifest of " + std::to_string(step), anchor};
}
StoredCheckpoint there(std::uint64_t step, std::uint64_t sequence) {
  return {{step, sequence}, true, "manifest of " + std::to_string(step)};
}
StoredCheckpoint half(std::uint64_t step, std::uint64_t sequence) {
  return {{step, sequence}, false};
}
std::string text(const std::optional<UploadPlan::One>& one) {
  return one ? one->name.text() + " as " + one->as.text() : "nothing";
}
std::vector<std::uint64_t> steps(const std::vector<CheckpointName>& names) {
  std::vector<std::uint64_t> out;
  for (const CheckpointName& name : names) out.push_back(name.step);
  return out;
}
using Steps = std::vector<std::uint64_t>;

TEST(UploadPlan, TheNewestAndNothingElse) {
  EXPECT_FALSE(plan_upload({}, {}).next);
  EXPECT_FALSE(plan_upload({}, {there(5, 5)}).next);
  const UploadPlan plan = plan_upload({local(30, 3), local(20, 2), local(10, 1)}, {});
  EXPECT_EQ(text(plan.next), "step-00000030-000003 as step-00000030-000003");
  EXPECT_EQ(steps(plan.skipped), (Steps{20, 10}));
}

TEST(UploadPlan, WhatIsThereIsNotSentAgain) {
  const UploadPlan plan = plan_upload({local(30, 3), local(20, 2)}, {there(30, 3)});
  EXPECT_FALSE(plan.next);
  EXPECT_TRUE(plan.skipped.empty()) << "it was behind the newest: nobody waits for it";
}

TEST(UploadPlan, OnlyWhatIsNewerThanTheStoreCountsAsSkipped) {
  const UploadPlan plan =
      plan_upload({local(40, 4), local(30, 3), local(20, 2), local(10, 1)}, {there(20, 2)});
  EXPECT_EQ(text(plan.next), "step-00000040-000004 as step-00000040-000004");
  EXPECT_EQ(steps(plan.skipped), Steps{30});
}

TEST(UploadPlan, AnchorsGoAfterTheNewest) {
  const std::vector<LocalCheckpoint> folder = {local(30, 3), local(20, 2, true), local(10, 1)};
  EXPECT_EQ(plan_upload(folder, {}).next->name.step, 30U);
  const UploadPlan plan = plan_upload(folder, {there(30, 3)});
  EXPECT_EQ(text(plan.next), "step-00000020-000002 as step-00000020-000002");
  const UploadPlan done = plan_upload(folder, {there(30, 3), there(20, 2)});
  EXPECT_FALSE(done.next);
  ASSERT_EQ(done.anchors.size(), 1U);
  EXPECT_EQ(done.anchors[0].as.step, 20U);
}

// A folder that was lost begins with number 1, and what it sends has to come behind what is there.
TEST(UploadPlan, AFolderThatBeganAnew) {
  std::vector<LocalCheckpoint> folder = {local(80, 1)};
  std::vector<StoredCheckpoint> store = {there(70, 7), there(60, 6)};
  EXPECT_EQ(text(plan_upload(folder, store).next), "step-00000080-000001 as step-00000080-000008");
  store.insert(store.begin(), half(80, 8));
  EXPECT_EQ(text(plan_upload(folder, store).next), "step-00000080-000001 as step-00000080-000008")
      << "the half that is there is gone on with";
  EXPECT_TRUE(plan_upload(folder, store).waste.empty());
  store[0] = there(80, 8);
  EXPECT_FALSE(plan_upload(folder, store).next);
  folder.insert(folder.begin(), local(90, 2));
  EXPECT_EQ(text(plan_upload(folder, store).next), "step-00000090-000002 as step-00000090-000009");
  folder.pop_back();
  EXPECT_EQ(text(plan_upload(folder, store).next), "step-00000090-000002 as step-00000090-000009");
}

TEST(UploadPlan, AnchorsOfAFolderThatBeganAnewKeepTheirOrder) {
  const std::vector<LocalCheckpoint> folder = {local(90, 2), local(80, 1, true)};
  std::vector<StoredCheckpoint> store = {there(70, 7)};
  EXPECT_EQ(text(plan_upload(folder, store).next), "step-00000090-000002 as step-00000090-000009");
  store.insert(store.begin(), there(90, 9));
  EXPECT_EQ(text(plan_upload(folder, store).next), "step-00000080-000001 as step-00000080-000008");
}

TEST(UploadPlan, ADifferentOneOfTheSameStepIsNotTheSame) {
  StoredCheckpoint other = there(30, 3);
  other.manifest = "of another life";
  EXPECT_EQ(text(plan_upload({local(30, 3)}, {other}).next),
            "step-00000030-000003 as step-00000030-000004");
  other.manifest.clear();  // it could not be read
  EXPECT_TRUE(plan_upload({local(30, 3)}, {other}).next);
}

TEST(UploadPlan, ACopyThatGotAHigherNumberHere) {
  const std::vector<LocalCheckpoint> folder = {local(40, 10), local(30, 9)};
  EXPECT_EQ(text(plan_upload(folder, {there(30, 3)}).next),
            "step-00000040-000010 as step-00000040-000010");
}

TEST(UploadPlan, AnAnchorWhosePlaceIsTakenIsLeftOut) {
  StoredCheckpoint other = there(20, 2);
  other.manifest = "of another life";
  const UploadPlan plan = plan_upload({local(30, 3), local(20, 2, true)}, {there(30, 3), other});
  EXPECT_FALSE(plan.next);
  EXPECT_EQ(steps(plan.skipped), Steps{20});
}

TEST(UploadPlan, HalvesThatNobodyWillEnd) {
  const UploadPlan plan = plan_upload({local(40, 4), local(20, 2, true)},
                                      {half(50, 5), there(40, 4), half(30, 3), half(20, 2)});
  EXPECT_EQ(plan.next->name.step, 20U);
  EXPECT_EQ(steps(plan.waste), Steps{30});
}

TEST(StorePrune, TheNewestGoodOnesAndAnchorsStay) {
  const std::vector<StoredCheckpoint> store = {half(70, 7),  there(60, 6), there(50, 5),
                                               there(40, 4), there(30, 3), there(20, 2)};
  const std::map<std::uint64_t, StoredState> states = {
      {60, {true, false}}, {50, {false, false}}, {40, {true, false}},
      {30, {true, true}},  {20, {true, false}},
  };
  const StateOf state_of = [&](const CheckpointName& name) {
    return base::Result<StoredState>(states.at(name.step));
  };
  EXPECT_EQ(steps(plan_store_prune(store, 2, state_of).value()), Steps{20});
  EXPECT_EQ(steps(plan_store_prune(store, 1, state_of).value()), (Steps{40, 20}));
  EXPECT_TRUE(plan_store_prune(store, 9, state_of).value().empty());
  const StateOf silent = [](const CheckpointName&) {
    return base::Result<StoredState>(base::Status::io("no answer"));
  };
  EXPECT_FALSE(plan_store_prune(store, 1, silent).ok());
}

}  // namespace
}  // namespace headway::checkpoint
