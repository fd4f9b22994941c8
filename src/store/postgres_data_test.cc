// What becomes of the rows of a PostgreSQL store: with several who write, when they are old, and
// when they are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "store/postgres_suite.h"

namespace headway::store {
namespace {

using ingest::Verdict;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t day_ns = 86'400'000'000'000;

TEST_F(Postgres, TwoOnOneDatabase) {
  constexpr int jobs = 5, senders = 6, rounds = 25;
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 2; ++i) stores.push_back(open());
  std::atomic<int> left{senders};
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < senders; ++rank) {
    threads.emplace_back([&, rank] {
      std::mt19937 random(seed + rank);
      std::vector<Sender> mine;
      for (int i = 0; i < jobs; ++i) mine.emplace_back(rank, "job" + std::to_string(i));
      for (int round = 0; round < rounds; ++round) {
        std::vector<std::vector<std::byte>> bytes;
        std::vector<ingest::Batch> batches;
        std::vector<int> order(jobs);
        for (int i = 0; i < jobs; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        for (const int i : order) bytes.push_back(mine[i].batch(round * 10, 10));
        std::vector<Append> appends;
        for (const auto& each : bytes) batches.push_back(ingest::Batch::parse(each, "b").value());
        for (int i = 0; i < jobs; ++i) {
          appends.push_back({"t", mine[order[i]].job, 1, &batches[i], bytes[i], 5 + round});
        }
        for (const std::size_t to : {random() % 2, random() % 2}) {
          auto out = stores[to]->append(appends);
          ASSERT_TRUE(out.ok()) << out.status().message();
          for (const Appended& each : *out) {
            EXPECT_TRUE(each.judgement.verdict == Verdict::news ||
                        each.judgement.verdict == Verdict::duplicate);
            EXPECT_EQ(each.next[0].second, (round + 1) * 10u);
          }
        }
      }
      --left;
    });
  }
  std::map<std::int64_t, std::int64_t> seen;  // by job, the newest; and how many up to it
  std::map<std::int64_t, std::size_t> count;
  for (bool over = false; !over;) {
    over = left == 0;
    const auto rows = stores[0]->jobs("", 100);
    ASSERT_TRUE(rows.ok());
    for (const JobRow& job : rows.value()) {
      std::size_t old = 0;
      std::int64_t newest = seen[job.key];
      ASSERT_TRUE(stores[1]
                      ->batches(job.key, 1, 0,
                                [&](const BatchRow& row) {
                                  old += row.seq <= seen[job.key] ? 1 : 0;
                                  newest = std::max(newest, row.seq);
                                  ++count[-job.key];
                                  return true;
                                })
                      .ok());
      EXPECT_EQ(old, count[job.key]) << "a batch came in before one that was seen";
      count[job.key] = std::exchange(count[-job.key], 0);
      seen[job.key] = newest;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < jobs; ++i) {
    EXPECT_EQ(slots_of(*stores[i % 2], "job" + std::to_string(i)), senders * rounds * 10u);
  }
  EXPECT_THAT(stores[0]->check().value(), IsEmpty());
}

TEST_F(Postgres, WhatIsOldGoesWithItsPartition) {
  const auto store = open();
  const auto tables = [&] {
    return sql(
        "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_inherits JOIN pg_class ON "
        "oid = inhrelid WHERE inhparent = 'headway.batch'::regclass AND relkind = 'r'");
  };
  const std::int64_t monday = 20'000 * day_ns - 20'000 % 7 * day_ns + 4 * day_ns;
  Sender old(0, "old"), lasting(0, "lasting"), young(0, "young");
  ASSERT_TRUE(append_one(*store, old.batch(0, 5), "old", 1, "t", monday).ok());
  const std::string first = tables().substr(0, 14);
  ASSERT_TRUE(append_one(*store, old.batch(5, 5), "old", 1, "t", monday + 8 * day_ns).ok());
  ASSERT_TRUE(append_one(*store, lasting.batch(0, 5), "lasting", 1, "t", monday + 9 * day_ns).ok());
  ASSERT_TRUE(append_one(*store, young.batch(0, 5), "young", 1, "t", monday + 40 * day_ns).ok());
  ASSERT_TRUE(
      append_one(*store, lasting.batch(5, 5), "lasting", 1, "t", monday + 41 * day_ns).ok());
  EXPECT_THAT(tables(), HasSubstr(first));
  EXPECT_EQ(store->forget_batches(monday + 30 * day_ns).value(), 1u);
  // The first week was the old job's alone; of the second another job still has some.
  EXPECT_THAT(tables(), Not(HasSubstr(first)));
  EXPECT_EQ(sql("SELECT count(*) FROM headway.batch"), "3");
  EXPECT_EQ(slots_of(*store, "lasting"), 10u);
  EXPECT_THAT(store->check().value(), IsEmpty());
  // A collector that thinks that the week is still there.
  auto again = append_one(*store, old.batch(0, 5), "old", 1, "t", monday);
  while (!again.ok()) again = append_one(*store, old.batch(0, 5), "old", 1, "t", monday);
  EXPECT_EQ(again->judgement.verdict, Verdict::news);
  EXPECT_EQ(slots_of(*store, "old"), 5u);
  EXPECT_THAT(tables(), HasSubstr(first));
}

TEST_F(Postgres, ForgettingIsNobodysBusiness) {
  const auto store = open();
  for (int i = 0; i < 30; ++i) {
    const std::string name = "old" + std::to_string(i);
    ASSERT_TRUE(append_one(*store, Sender(0, name).batch(0, 5), name, 1, "t", i * day_ns).ok());
  }
  std::atomic<bool> over{false};
  std::thread writer([&] {
    Sender sender(0);
    for (std::uint64_t at = 0; at < 500; at += 5) {
      auto out = append_one(*store, sender.batch(at, 5), "job", 1, "t", 100 * day_ns);
      EXPECT_TRUE(out.ok()) << out.status().message();
    }
    over = true;
  });
  std::uint64_t forgotten = 0;
  for (std::int64_t day = 1; !over; ++day) {
    auto some = store->forget_batches(std::min<std::int64_t>(day, 99) * day_ns);
    ASSERT_TRUE(some.ok()) << some.status().message();
    forgotten += *some;
  }
  writer.join();
  forgotten += store->forget_batches(99 * day_ns).value();
  EXPECT_EQ(forgotten, 30u);
  EXPECT_EQ(slots_of(*store), 500u);
  EXPECT_EQ(sql("SELECT count(*) FROM headway.batch WHERE received_ns < 9000000000000000"), "100");
}

TEST_F(Postgres, DamageIsFoundByACheck) {
  const auto store = open();
  sql("CREATE EXTENSION amcheck");
  Sender sender(0);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(append_one(*store, sender.batch(i * 10, 10)).ok());
  }
  EXPECT_THAT(store->check().value(), IsEmpty());
  const auto found = [&](const std::string& damage, const std::string& repair) {
    sql(damage);
    auto wrong = store->check();
    sql(repair);
    EXPECT_THAT(store->check().value(), IsEmpty()) << repair;
    return wrong.ok() && !wrong->empty() ? wrong->front() : "nothing";
  };
  sql("CREATE TABLE saved AS SELECT * FROM headway.batch");
  const std::string back = "TRUNCATE headway.batch; INSERT INTO headway.batch SELECT * FROM saved";
  EXPECT_THAT(found("UPDATE headway.batch SET bytes = '\\x00' WHERE seq = 7", back),
              HasSubstr("batch 7"));
  EXPECT_THAT(found("DELETE FROM headway.batch WHERE seq = 7", back), HasSubstr("batch 8"));
  EXPECT_THAT(found("DELETE FROM headway.batch WHERE seq = 20", back), HasSubstr("missing"));
  EXPECT_THAT(found("UPDATE headway.journal SET next_slot = 190",
                    "UPDATE headway.journal SET next_slot = 200"),
              HasSubstr("is at slot 190, but its batches end at 200"));
  EXPECT_THAT(found("UPDATE headway.batch SET job = 77 WHERE seq = 3", back), HasSubstr("batch 4"));
  EXPECT_THAT(found("UPDATE headway.job SET heard_ns = heard_ns - 1",
                    "UPDATE headway.job SET heard_ns = heard_ns + 1"),
              Not(HasSubstr("nothing")));
}

}  // namespace
}  // namespace headway::store
