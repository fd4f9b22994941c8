#include "metrics/compile_cache.h"

#include <gtest/gtest.h>

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
