#include "record/tick_map.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "record/test_util.h"

namespace headway::record {
namespace {

event::HeaderFields header(std::uint64_t hz) {
  event::HeaderFields h = JournalBytes().fixed;
  h.clock_hz = hz;
  return h;
}

constexpr std::int64_t kReal = JournalBytes::anchor_real_ns;
constexpr std::int64_t kMono = JournalBytes::anchor_mono_ns;
constexpr std::uint64_t kTicks = JournalBytes::anchor_ticks;

TEST(TickMap, FollowsTheHeaderBothWays) {
  const TickMap map(header(2'000'000'000));
  EXPECT_EQ(map.real_ns(kTicks), kReal);
  EXPECT_EQ(map.real_ns(kTicks + 2000), kReal + 1000);
  EXPECT_EQ(map.real_ns(kTicks - 2000), kReal - 1000);
}

TEST(TickMap, SaturatesInsteadOfOverflowing) {
  const TickMap map(header(1'000'000));
  EXPECT_LE(map.real_ns(kTicks + (1ull << 62)), std::int64_t{1} << 62);
  EXPECT_GE(map.real_ns(kTicks - (1ull << 62)), -(std::int64_t{1} << 62));
  EXPECT_GT(map.real_ns(kTicks + (1ull << 62)), kReal);
  EXPECT_LT(map.real_ns(kTicks - (1ull << 62)), kReal);
}

// The true clock runs 40 ppm off the calibration and drifts; anchors are read with an error.
TEST(TickMap, StaysWithinMicrosecondsOfADriftingClockAndIsMonotone) {
  constexpr unsigned kSeed = 7;
  std::printf("seed %u\n", kSeed);
  std::mt19937_64 random(kSeed);
  TickMap map(header(3'000'000'000));
  double rate = 1e9 / 3e9 * (1 + 40e-6);  // ns a tick
  std::uint64_t ticks = kTicks;
  double true_ns = 0;
  std::int64_t last = kReal;
  const auto advance = [&](double seconds) {
    for (int i = 0; i < 20; ++i) {
      const auto passed = static_cast<std::uint64_t>(seconds / 20 * 3e9);
      ticks += passed;
      true_ns += static_cast<double>(passed) * rate;
      const std::int64_t now = map.real_ns(ticks);
      EXPECT_GE(now, last);
      last = now;
      EXPECT_NEAR(static_cast<double>(now - kReal), true_ns, 60'000);
    }
    const std::int64_t noise = static_cast<std::int64_t>(random() % 61) - 30;
    const auto mono = kMono + static_cast<std::int64_t>(true_ns) + noise;
    map.add_anchor(ticks, mono, mono + (kReal - kMono));
  };
  for (const double at : {0.001, 0.009, 0.09, 0.9}) advance(at);
  for (int i = 0; i < 200; ++i) {
    rate *= 1 + (static_cast<double>(random() % 100) - 50) * 1e-9;
    advance(5);
    if (i < 4) continue;
    EXPECT_NEAR(static_cast<double>(map.real_ns(ticks) - kReal), true_ns, 2'000) << i;
  }
  EXPECT_EQ(map.jumps(), 0u);
}

TEST(TickMap, PastTicksKeepTheirMeaning) {
  TickMap map(header(1'000'000'000));
  const std::uint64_t early = kTicks + 500;
  const std::int64_t before = map.real_ns(early);
  for (int i = 1; i < 100; ++i) {
    map.add_anchor(kTicks + static_cast<std::uint64_t>(i) * 1'000'000, kMono + i * 1'000'100,
                   kReal + i * 1'000'100);
    EXPECT_EQ(map.real_ns(early), before);
  }
}

TEST(TickMap, MemoryIsBounded) {
  TickMap map(header(1'000'000'000));
  for (std::uint64_t i = 1; i < 3 * TickMap::pieces_max; ++i) {
    map.add_anchor(kTicks + i * 1000, kMono + static_cast<std::int64_t>(i) * 1000, 0);
  }
  const std::uint64_t now = kTicks + 3 * TickMap::pieces_max * 1000;
  EXPECT_EQ(map.real_ns(now), kReal + static_cast<std::int64_t>(now - kTicks));
  EXPECT_EQ(map.real_ns(kTicks), kReal);  // the rate never changed, so even extrapolation is exact
}

TEST(TickMap, CountsJumpsOfRealTimeAndDoesNotApplyThem) {
  TickMap map(header(1'000'000'000));
  const auto anchor = [&map](std::int64_t after_ns, std::int64_t displaced_ns) {
    map.add_anchor(kTicks + static_cast<std::uint64_t>(after_ns), kMono + after_ns,
                   kReal + after_ns + displaced_ns);
  };
  constexpr std::int64_t kSecond = 1'000'000'000;
  anchor(1 * kSecond, 900'000'000);
  EXPECT_EQ(map.jumps(), 0u);
  anchor(2 * kSecond, 3600 * kSecond);
  anchor(3 * kSecond, 3600 * kSecond);
  EXPECT_EQ(map.jumps(), 1u);
  anchor(4 * kSecond, 0);
  EXPECT_EQ(map.jumps(), 2u);
  EXPECT_EQ(map.jump_ns(), 7200 * kSecond);
  EXPECT_EQ(map.real_ns(kTicks + 5 * kSecond), kReal + 5 * kSecond);
}

TEST(TickMap, TakesAGapForwardsAtOnceAndNeverGoesBack) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  TickMap map(header(1'000'000'000));
  map.add_anchor(kTicks + kSecond, kMono + kSecond + 50'000'000, kReal);
  EXPECT_EQ(map.real_ns(kTicks + kSecond), kReal + kSecond + 50'000'000);
  TickMap slow(header(1'000'000'000));
  slow.add_anchor(kTicks + kSecond, kMono + kSecond - 50'000'000, kReal);
  EXPECT_EQ(slow.real_ns(kTicks + kSecond), kReal + kSecond);
  EXPECT_GT(slow.real_ns(kTicks + kSecond + 10), kReal + kSecond);
}

TEST(TickMap, IgnoresAnchorsThatMakeNoSense) {
  TickMap map(header(1'000'000'000));
  map.add_anchor(kTicks, kMono + 5, kReal);
  map.add_anchor(kTicks - 100, kMono + 5, kReal);
  map.add_anchor(kTicks + 100, kMono - 5, kReal);
  map.add_anchor(kTicks + 100, INT64_MAX, INT64_MIN);
  map.add_anchor(kTicks + 100, INT64_MIN, INT64_MAX);
  EXPECT_EQ(map.real_ns(kTicks + 1000), kReal + 1000);
}

}  // namespace
}  // namespace headway::record
