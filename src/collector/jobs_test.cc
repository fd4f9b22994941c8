// Jobs whose store fails, and clocks that people set.
#include "collector/jobs.h"

#include <gtest/gtest.h>

#include <random>

#include "base/clock.h"
#include "base/temp_dir.h"
#include "collector/odd_store.h"
#include "collector/test_job.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

constexpr std::int64_t kDay = 86'400'000'000'000;

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() {
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    EXPECT_TRUE(store.ok());
    real_ = std::move(*store);
    store_ = std::make_unique<OddStore>(*real_);
    job_.attempt(1, 2, 20, false);
    std::mt19937 random(3);
    job_.post_in_any_order(random, [&](const std::string&, const std::vector<std::byte>& body) {
      batches_.push_back(body);
    });
  }
  // The store keeps it, and `jobs` (if any) is told.
  void append(const std::vector<std::byte>& body, std::int64_t received_ns, Jobs* jobs) {
    auto batch = ingest::Batch::parse(body, "batch");
    ASSERT_TRUE(batch.ok());
    std::vector<event::Record> slots;
    ASSERT_TRUE(ingest::unpack_slots(batch->packed, batch->header.slots, slots, "batch").ok());
    const store::Append append{"t", job_.name(), 1, &*batch, body, received_ns};
    auto appended = store_->append(std::span(&append, 1));
    ASSERT_TRUE(appended.ok());
    if (jobs != nullptr) jobs->took(append, appended->front(), appended->front().made_job, slots);
  }
  struct Seen {
    base::Result<bool> found{false};
    std::size_t attempts = 0;
    bool alive = false;
  };
  Seen look(Jobs& jobs) {
    Seen seen;
    seen.found = jobs.view("t", job_.name(), base::real_ns(), [&](const JobView& view) {
      seen.attempts = view.result.attempts.size();
      seen.alive = view.alive;
    });
    return seen;
  }

  base::TempDir dir_;
  std::unique_ptr<store::Store> real_;
  std::unique_ptr<OddStore> store_;
  TestJob job_{"train"};
  std::vector<std::vector<std::byte>> batches_;
};

// A store that cannot be read is told so every time, not as a job without anything in it.
TEST_F(JobsTest, AStoreThatFailsIsToldUntilItIsRead) {
  for (const auto& batch : batches_) append(batch, base::real_ns(), nullptr);
  JobsOptions options;
  options.reread_share = 1'000'000'000;  // not again in this test
  Jobs jobs(*store_, options);
  store_->fails = true;
  for (int i = 0; i < 3; ++i) {
    const Seen seen = look(jobs);
    ASSERT_FALSE(seen.found.ok()) << i;
    EXPECT_EQ(seen.found.status().message(), "stored batch 1: is damaged");
  }
  options.reread_share = 0;
  Jobs again(*store_, options);
  EXPECT_FALSE(look(again).found.ok());
  store_->fails = false;
  const Seen seen = look(again);
  ASSERT_TRUE(seen.found.ok());
  EXPECT_EQ(seen.attempts, 1u);
}

// The clock was a day ahead when the last batch came: that keeps no job running for a day.
TEST_F(JobsTest, AClockThatWasAheadKeepsNoJobRunning) {
  batches_.resize(4);
  JobsOptions options;
  options.silent_ns = 1;  // anything is longer
  Jobs jobs(*store_, options);
  for (const auto& batch : batches_) append(batch, base::real_ns() + kDay, &jobs);
  EXPECT_FALSE(look(jobs).alive);
  // Read from the store by one who has not heard of it.
  Jobs other(*store_, {});
  EXPECT_FALSE(look(other).alive);
}

TEST_F(JobsTest, AClockThatWasSetForwardEndsNoJob) {
  batches_.resize(4);
  Jobs jobs(*store_, {});
  for (const auto& batch : batches_) append(batch, base::real_ns() - kDay, &jobs);
  EXPECT_TRUE(look(jobs).alive);
}

// Of a job that another collector hears, whatever that one's clock says.
TEST_F(JobsTest, WhatOthersHearIsRunning) {
  store_->shared = true;
  store_->ahead_ns = kDay;
  Jobs jobs(*store_, {});
  const std::size_t half = batches_.size() / 2;
  for (std::size_t i = 0; i < half; ++i) append(batches_[i], base::real_ns(), nullptr);
  EXPECT_FALSE(look(jobs).alive);
  append(batches_[half], base::real_ns(), nullptr);
  EXPECT_TRUE(look(jobs).alive);
  store_->ahead_ns = 0;
  Jobs third(*store_, {});
  EXPECT_TRUE(look(third).alive);
}

}  // namespace
}  // namespace headway::collector
