// Drawings of jobs with more ranks than fit, with less time than they need, and twice.
#include "collector/timeline_api.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/temp_dir.h"
#include "collector/collector.h"
#include "collector/test_job.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

using nlohmann::json;

constexpr std::uint32_t kRanks = 70;
constexpr int kSteps = 40;

class TimelineApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    job_.attempt(1, kRanks, kSteps, true);
    job_.attempt(2, kRanks, kSteps, false);
    {
      auto store = store::open_sqlite({dir_.path() + "/store.db"});
      ASSERT_TRUE(store.ok());
      auto collector = Collector::start({}, std::move(*store));
      ASSERT_TRUE(collector.ok()) << collector.status().message();
      std::mt19937 random(1);
      job_.post_in_any_order(random, [&](const std::string& path, const auto& body) {
        const auto attempt = std::stoull(path.substr(path.rfind('/') + 1));
        (*collector)
            ->take_in(job_.name(), attempt,
                      {reinterpret_cast<const char*>(body.data()), body.size()});
      });
      (*collector)->settle();
    }
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    jobs_ = std::make_unique<Jobs>(*store_, JobsOptions{.reread_share = 0});
  }

  json ask(const TimelineQuestion& question = {}, const ReadLimits& limits = {}) {
    const auto answer = job_timeline({*store_, *jobs_, cache_}, "default", job_.name(), question,
                                     2'000'000'000'000'000'000, limits);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body);
  }
  static std::set<std::uint32_t> ranks_of(const json& told) {
    std::set<std::uint32_t> out;
    for (const json& lane : told["lanes"]) {
      if (!lane["rank"].is_null()) out.insert(lane["rank"].get<std::uint32_t>());
    }
    return out;
  }

  TestJob job_{"many"};
  base::TempDir dir_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Jobs> jobs_;
  LaneCache cache_;
};

// Each rank of the test's job is a little slower than the one before it.
TEST_F(TimelineApiTest, TheSlowestRanksHaveRowsAndAllCanBeAskedFor) {
  const json told = ask();
  EXPECT_EQ(told["ranks"], kRanks);
  EXPECT_EQ(told["ranks_shown"], timeline_ranks_max);
  EXPECT_TRUE(told["complete"].get<bool>());
  EXPECT_TRUE(ranks_of(told).contains(kRanks - 1));
  EXPECT_EQ(told["failures"][0]["rank"], kRanks - 1);
  EXPECT_TRUE(told["failures"][0]["category"].is_null());
  TimelineQuestion question;
  question.ranks = {3, 69};
  EXPECT_EQ(ranks_of(ask(question)), (std::set<std::uint32_t>{3, 69}));
}

// Rank 0 has nothing to do with who else saved.
TEST_F(TimelineApiTest, CheckpointsAreThoseOfTheRanksOnShow) {
  TimelineQuestion question;
  const auto saves = [&](std::vector<std::uint32_t> ranks) {
    question.ranks = std::move(ranks);
    return ask(question)["checkpoints"];
  };
  const json first = saves({0}), last = saves({kRanks - 1}), both = saves({0, kRanks - 1});
  ASSERT_EQ(first.size(), 2u * (kSteps / 10));
  ASSERT_EQ(last.size(), first.size());
  EXPECT_EQ(both, last) << "a save is there when the last rank has it";
  EXPECT_NE(first, last);
}

TEST_F(TimelineApiTest, ThereIsAnAnswerInTimeAndMoreInTheNext) {
  ReadLimits little;
  little.answer_records = 1;  // one rank each time
  std::size_t before = 0, answers = 0;
  json told;
  do {
    told = ask({}, little);
    const std::size_t lanes = told["lanes"].size();
    ASSERT_GT(lanes, before) << "it gets nowhere";
    before = lanes;
    ASSERT_LT(++answers, 1000u);
  } while (!told["complete"].get<bool>());
  EXPECT_EQ(answers, 2 * timeline_ranks_max);
  LaneCache fresh;
  const auto whole =
      job_timeline({*store_, *jobs_, fresh}, "default", job_.name(), {}, 2'000'000'000'000'000'000);
  EXPECT_EQ(told, json::parse(whole.body));
}

TEST_F(TimelineApiTest, WhatWasReadIsNotReadAgainHoweverFarOneGoesIn) {
  const json whole = ask();
  const auto reading = cache_.try_read();  // nobody may
  ASSERT_TRUE(reading.owns_lock());
  TimelineQuestion question;
  const auto from = whole["begin_ns"].get<std::int64_t>(), to = whole["end_ns"].get<std::int64_t>();
  for (std::int64_t length = to - from; length > 1000; length /= 3) {
    question.from_ns = from + (to - from - length) / 2;
    question.to_ns = *question.from_ns + length;
    const json told = ask(question);
    EXPECT_TRUE(told["complete"].get<bool>()) << length;
    for (const json& lane : told["lanes"]) {
      for (std::size_t i = 0; i < lane["start"].size(); ++i) {
        ASSERT_LE(0, lane["start"][i].get<std::int64_t>());
        ASSERT_LE(lane["end"][i].get<std::int64_t>(), length);
      }
    }
  }
}

// Somebody else's huge job is being read: what is known is told at once.
TEST_F(TimelineApiTest, WhileAnotherReadsWhatIsKnownIsTold) {
  const auto reading = cache_.try_read();
  ASSERT_TRUE(reading.owns_lock());
  const json told = ask();
  EXPECT_FALSE(told["complete"].get<bool>());
  EXPECT_EQ(told["lanes"].size(), 2u) << "the attempts' own";
}

TEST_F(TimelineApiTest, ARankWithTooManyRecordsIsDrawnAsFarAsItWasRead) {
  ReadLimits little;
  little.rank_records = 20;
  TimelineQuestion question;
  question.ranks = {5};
  const json told = ask(question, little);
  EXPECT_TRUE(told["complete"].get<bool>());
  for (const json& lane : told["lanes"]) {
    EXPECT_TRUE(lane["rank"].is_null() || !lane["exact"].get<bool>());
  }
}

}  // namespace
}  // namespace headway::collector
