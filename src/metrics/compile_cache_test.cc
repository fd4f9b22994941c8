#include "metrics/compile_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headway::metrics {
namespace {

TEST(CompileCache, AttemptsAreSummed) {
  const auto sum = compile_cache_of(
      {{{"compile_cache.0", "hits=3 misses=1 bypasses=4 builds=2 original_ms=9000 spent_ms=1500"},
        {"compile_cache_pulled", "archives=2 files=40 bytes=1000 ms=120"}},
       {{"compile_cache.0", "hits=4 misses=0 bypasses=0 builds=0 original_ms=1000 spent_ms=500"}}});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->hits, 7U);
  EXPECT_EQ(sum->saved_ns(), 8'000'000'000);
  EXPECT_DOUBLE_EQ(*sum->hit_pct(), 87.5);
  EXPECT_DOUBLE_EQ(*sum->coverage_pct(), 100.0 * 8 / 12);
  EXPECT_EQ(sum->pulls, 1U);
  EXPECT_EQ(sum->pulled_files, 40U);
  EXPECT_EQ(sum->pull_ns, 120'000'000);
  EXPECT_EQ(sum->ranks, 1U);
  EXPECT_FALSE(sum->worst_rank);
}

TEST(CompileCache, OfRanksTheSlowestDecidesAndTheOneThatMissedIsNamed) {
  const auto sum =
      compile_cache_of({{{"compile_cache.0", "hits=4 misses=0 original_ms=9000 spent_ms=1500"},
                         {"compile_cache.1", "hits=1 misses=3 original_ms=2000 spent_ms=2500"},
                         {"compile_cache.10", "hits=4 misses=0 original_ms=8000 spent_ms=1000"},
                         {"compile_cache_pulled.a", "archives=1 files=4 bytes=10 ms=300"},
                         {"compile_cache_pulled.b", "archives=1 files=4 bytes=10 ms=200"}}});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->hits, 9U);
  EXPECT_EQ(sum->misses, 3U);
  EXPECT_EQ(sum->ranks, 3U);
  EXPECT_EQ(sum->worst_rank, 1U);
  EXPECT_EQ(sum->worst_misses, 3U);
  EXPECT_EQ(sum->saved_ns(), 6'500'000'000);
  EXPECT_EQ(sum->pulls, 2U);
  EXPECT_EQ(sum->pulled_files, 8U);
  EXPECT_EQ(sum->pull_ns, 300'000'000);
}

TEST(CompileCache, WhatMissedIsToldByAttemptAndRank) {
  std::vector<std::vector<CacheNote>> attempts(2);
  std::vector<std::string> keys;
  for (int rank = 0; rank < 12; ++rank) keys.push_back("compile_cache." + std::to_string(rank));
  for (int rank = 0; rank < 12; ++rank) {
    attempts[0].emplace_back(keys[static_cast<std::size_t>(rank)], "hits=0 misses=24");
    const bool missed = rank == 3 || rank == 7 || rank == 8;
    attempts[1].emplace_back(keys[static_cast<std::size_t>(rank)],
                             missed ? "hits=22 misses=2" : "hits=24 misses=0");
  }
  attempts[1][5].second = "hits=1 misses=23";
  const auto sum = compile_cache_of(attempts);
  ASSERT_TRUE(sum);
  ASSERT_EQ(sum->missed.size(), 3U);
  EXPECT_EQ(sum->missed[0].attempt, 1);
  EXPECT_EQ(sum->missed[0].ranks, "5");
  EXPECT_EQ(sum->missed[0].misses, 23U);
  EXPECT_EQ(sum->missed[0].hits, 1U);
  EXPECT_EQ(sum->missed[1].ranks, "3,7-8");
  EXPECT_EQ(sum->missed[1].count, 3U);
  EXPECT_EQ(sum->missed[2].attempt, 0);
  EXPECT_EQ(sum->missed[2].ranks, "0-11");
  EXPECT_EQ(sum->missed[2].count, 12U);
  std::uint64_t all = 0;
  for (const MissedRow& row : sum->missed) all += row.count * row.misses;
  EXPECT_EQ(all, sum->misses);
}

TEST(CompileCache, OfVeryManyThatMissedTheNewestAreKept) {
  std::vector<std::vector<CacheNote>> attempts(CompileCache::missed_max + 20,
                                               {{"compile_cache.0", "hits=1 misses=1"}});
  std::vector<std::string> keys;
  for (int rank = 0; rank < 200; rank += 2) keys.push_back("compile_cache." + std::to_string(rank));
  attempts.emplace_back();
  for (const std::string& key : keys) attempts.back().emplace_back(key, "hits=0 misses=9");
  const auto sum = compile_cache_of(attempts);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->missed.size(), CompileCache::missed_max);
  EXPECT_EQ(sum->missed_left_out, 21U);
  EXPECT_EQ(sum->missed[0].attempt, static_cast<std::int64_t>(CompileCache::missed_max) + 20);
  EXPECT_EQ(sum->missed[0].count, 100U);
  EXPECT_TRUE(sum->missed[0].ranks.starts_with("0,2,4,"));
  EXPECT_TRUE(sum->missed[0].ranks.ends_with(",62,…"));
}

TEST(CompileCache, OtherKeysAreNoNotes) {
  EXPECT_FALSE(compile_cache_of({}));
  EXPECT_FALSE(compile_cache_of({{{"family", "hits=3"}, {"compile_caches", "hits=3"}}}));
}

TEST(CompileCache, GarbageIsPassedOver) {
  for (const char* text : {"", "hits", "hits=", "hits=-1", "hits=3x", "=", "  ", "hits=1e3",
                           "unknown=5", "hits=99999999999999999999999"}) {
    const auto sum = compile_cache_of({{{"compile_cache.x", text}}});
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->hits, 0U);
    EXPECT_FALSE(sum->hit_pct());
    EXPECT_FALSE(sum->coverage_pct());
  }
  EXPECT_GT(compile_cache_of({{{"compile_cache.0", "original_ms=18446744073709551615 spent_ms=1"}}})
                ->saved_ns(),
            0);
  // Slower than what it replaced: nothing was saved, and nothing is owed.
  EXPECT_EQ(
      compile_cache_of({{{"compile_cache.0", "hits=1 original_ms=10 spent_ms=20"}}})->saved_ns(),
      0);
}

}  // namespace
}  // namespace headway::metrics
