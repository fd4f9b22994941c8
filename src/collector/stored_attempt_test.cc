// The slots of an attempt's journals, in any order, however little of it may be kept in memory.
#include "collector/stored_attempt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "base/temp_dir.h"
#include "collector/test_job.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

constexpr std::uint32_t kRanks = 3;

struct Asked {
  ingest::JournalId journal;
  StoredPart part;
};

class StoredAttemptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    job_.attempt(1, kRanks, 2000, false);
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(*store);
    std::mt19937 random(5);
    std::vector<std::vector<std::byte>> bodies;
    job_.post_in_any_order(random, [&](const std::string&, const std::vector<std::byte>& body) {
      bodies.push_back(body);
    });
    std::vector<ingest::Batch> batches;
    for (const auto& body : bodies) {
      batches.push_back(ingest::Batch::parse(body, "batch").value());
      for (const ingest::HeadRecord& head : batches.back().heads) {
        journals_.insert(ingest::journal_id(head.journal));
      }
    }
    std::vector<store::Append> appends;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      appends.push_back({"default", job_.name(), 1, &batches[i], bodies[i], 1});
    }
    key_ = store_->append(appends).value().front().job;
    ASSERT_NE(key_, 0);
  }

  std::shared_ptr<StoredAttempt> open(const StoredLimits& limits) {
    auto opened = StoredAttempt::open(*store_, key_, 1, limits);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.value();
  }
  std::vector<Asked> all_parts(const StoredAttempt& attempt) const {
    std::vector<Asked> out;
    for (const ingest::JournalId& journal : journals_) {
      for (const StoredPart& part : attempt.parts(journal)) out.push_back({journal, part});
    }
    return out;
  }

  TestJob job_{"stored"};
  base::TempDir dir_;
  std::unique_ptr<store::Store> store_;
  std::set<ingest::JournalId> journals_;
  store::JobKey key_ = 0;
};

TEST_F(StoredAttemptTest, SaysTheSameHoweverLittleItKeeps) {
  const auto roomy = open({});
  std::vector<Asked> asked = all_parts(*roomy);
  ASSERT_GT(asked.size(), 2 * kRanks);
  std::mt19937 random(7);
  for (const StoredLimits limits : {StoredLimits{0, 0}, StoredLimits{0, 64u << 20},
                                    StoredLimits{2000, 0}, StoredLimits{16u << 20, 100'000}}) {
    const auto tight = open(limits);
    for (int round = 0; round < 3; ++round) {
      std::ranges::shuffle(asked, random);
      for (const Asked& one : asked) {
        auto wanted = roomy->slots(one.part);
        auto got = tight->slots(one.part);
        ASSERT_TRUE(wanted.ok() && got.ok()) << got.status().message();
        ASSERT_EQ(got->size(), one.part.slots);
        ASSERT_EQ(std::memcmp(got->data(), wanted->data(), got->size_bytes()), 0);
      }
    }
  }
}

TEST_F(StoredAttemptTest, ABatchThatIsGoneIsSaid) {
  const auto attempt = open({.kept_bytes_max = 0, .unpacked_bytes_max = 0});
  const std::vector<Asked> asked = all_parts(*attempt);
  ASSERT_TRUE(store_->forget_batches(2).ok());
  const auto got = attempt->slots(asked[0].part);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.status().message().find("is gone"), std::string::npos) << got.status().message();
}

}  // namespace
}  // namespace headway::collector
