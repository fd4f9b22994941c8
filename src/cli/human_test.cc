#include "cli/human.h"

#include <gtest/gtest.h>

#include <csignal>
#include <numeric>

namespace headway::cli {
namespace {

constexpr Style kUnicode{.color = false, .unicode = true, .width = 100};
constexpr Style kAscii{.color = false, .unicode = false, .width = 100};
constexpr std::int64_t kS = 1'000'000'000;

std::string duration(std::int64_t ns) {
  return human_duration(ns, kUnicode);
}

TEST(Duration, ChoosesTheUnit) {
  EXPECT_EQ(duration(0), "0 ns");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(12'345), "12.3 µs");
  EXPECT_EQ(human_duration(12'345, kAscii), "12.3 us");
  EXPECT_EQ(duration(4'567'890), "4.57 ms");
  EXPECT_EQ(duration(250'000'000), "0.250 s");
  EXPECT_EQ(duration(1'234'000'000), "1.234 s");
  EXPECT_EQ(duration(12'345'000'000), "12.35 s");
  EXPECT_EQ(duration(123 * kS), "2m 03s");
  EXPECT_EQ(duration(3'720 * kS), "1h 02m");
  EXPECT_EQ(duration(76 * 3'600 * kS), "3d 04h");
  EXPECT_EQ(duration(-2 * kS), "-2.000 s");
}

TEST(Duration, RoundingNeverShowsSixtySeconds) {
  EXPECT_EQ(duration(59'994'999'999), "59.99 s");
  EXPECT_EQ(duration(59'995'000'000), "1m 00s");
  EXPECT_EQ(duration(119'600'000'000), "2m 00s");
  EXPECT_EQ(duration(3'599'400'000'000), "59m 59s");
  EXPECT_EQ(duration(3'599'600'000'000), "1h 00m");
  EXPECT_EQ(duration(7'199 * kS), "2h 00m");
  EXPECT_EQ(duration(999'949), "999.9 µs");
  EXPECT_EQ(duration(999'950), "1.00 ms");
  EXPECT_EQ(duration(99'995'000), "0.100 s");
}

TEST(Instant, DatesAndClocksOfTheirOwn) {
  const std::int64_t t = 1'794'778'800 * kS;
  EXPECT_EQ(human_instant(t + kS / 2, kUnicode), "2026-11-15 21:40:00 UTC");
  EXPECT_EQ(human_instant(12'500'000'000, kUnicode), "t = 12.5 s");
  EXPECT_EQ(human_instant(-kS, kUnicode), "t = -1 s");
  EXPECT_EQ(human_interval(t, t + 60 * kS, kUnicode), "2026-11-15 21:40:00 – 21:41:00 UTC");
  EXPECT_EQ(human_interval(t, t + 10'800 * kS, kAscii),
            "2026-11-15 21:40:00 - 2026-11-16 00:40:00 UTC");
  EXPECT_EQ(human_interval(0, 222 * kS, kUnicode), "t = 0 – 222 s");
}

TEST(Count, GroupsDigits) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1'234'567), "1 234 567");
}

TEST(Share, AlwaysAddsUp) {
  EXPECT_EQ(share_out({1, 1, 1}, 10'000), (std::vector<std::int64_t>{3'334, 3'333, 3'333}));
  EXPECT_EQ(share_out({0, 0}, 10'000), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(share_out({5, 0}, 7), (std::vector<std::int64_t>{7, 0}));
  std::uint64_t seed = 12'345;
  for (int round = 0; round < 1'000; ++round) {
    std::vector<std::int64_t> parts(1 + round % 9);
    for (std::int64_t& part : parts) {
      seed = seed * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
      part = static_cast<std::int64_t>(seed >> (8 + seed % 50));
    }
    parts[0] += 1;
    const auto shares = share_out(parts, kWholeShare);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}), kWholeShare);
  }
}

TEST(Share, RoundsHalfUp) {
  EXPECT_EQ(share_of(1, 3), 3'333);
  EXPECT_EQ(share_of(2, 3), 6'667);
  EXPECT_EQ(share_of(1, 20'000), 1);
  EXPECT_EQ(share_of(5, 0), 0);
  EXPECT_EQ(share_of(INT64_MAX, INT64_MAX), kWholeShare);
}

TEST(Share, ShowsTwoDigits) {
  EXPECT_EQ(human_share(10'000), "100.00%");
  EXPECT_EQ(human_share(7), "0.07%");
}

TEST(Bytes, InTheLargestUnitThatFits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes((1 << 20) - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(human_bytes(UINT64_MAX), "16777216.0 TiB");
}

TEST(Signal, HasAName) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(250), "signal 250");
}

TEST(Human, OneIsNoPlural) {
  EXPECT_EQ(plural(1, "file"), "1 file");
  EXPECT_EQ(plural(0, "file"), "0 files");
  EXPECT_EQ(plural(12'345, "entry is", "entries are"), "12 345 entries are");
}

}  // namespace
}  // namespace headway::cli
