#include "cli/report_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::cli {
namespace {

using From = WindowEnd::From;
using testing::HasSubstr;

constexpr std::int64_t kS = 1'000'000'000;

WindowEnd first(const std::string& text) {
  const auto parsed = parse_window(text + "..");
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.status().message();
  return parsed.ok() ? parsed.value().a : WindowEnd{};
}

TEST(Window, FromTheBegin) {
  for (const auto& [text, ns] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"0", 0},
           {"60", 60 * kS},
           {"0.5", kS / 2},
           {"90s", 90 * kS},
           {"10m", 600 * kS},
           {"1h30m", 5'400 * kS},
           {"2h", 7'200 * kS},
           {"1.5h", 5'400 * kS},
           {"1d", 86'400 * kS},
           {"250ms", kS / 4},
           {"200.123456789", 200'123'456'789}}) {
    EXPECT_EQ(first(text).from, From::begin) << text;
    EXPECT_EQ(first(text).ns, ns) << text;
  }
}

TEST(Window, FromTheEnd) {
  EXPECT_EQ(first("-1h").from, From::end);
  EXPECT_EQ(first("-1h").ns, -3'600 * kS);
}

TEST(Window, Absolute) {
  constexpr std::int64_t t = 1'794'778'800;
  for (const auto& [text, ns] : std::initializer_list<std::pair<const char*, std::int64_t>>{
           {"2026-11-15T21:40:00Z", t * kS},
           {"2026-11-15T21:40:00", t * kS},
           {"2026-11-15T21:40", t * kS},
           {"2026-11-15T21:40Z", t * kS},
           {"2026-11-15T23:40:00+02:00", t * kS},
           {"2026-11-15T16:10:00-0530", t * kS},
           {"2026-11-15T21:40:00.25Z", t * kS + kS / 4},
           {"2026-11-15", (t - 21 * 3'600 - 40 * 60) * kS},
           {"1794778800000000007ns", t * kS + 7},
           {"-5ns", -5}}) {
    EXPECT_EQ(first(text).from, From::epoch) << text;
    EXPECT_EQ(first(text).ns, ns) << text;
  }
}

TEST(Window, OpenEnds) {
  const auto all = parse_window("..");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value().a.from, From::open);
  EXPECT_EQ(all.value().b.from, From::open);
  EXPECT_EQ(parse_window("..60").value().b.ns, 60 * kS);
}

TEST(Window, BadOnesAreExplained) {
  for (const char* text :
       {"", "60", "1-2", "x..", "..y", "5x..", "1h30..", "--1..", "1..2..3", "2026-13-01..",
        "2026-11-15T25:00..", "2026-11-15T21:40:00Q..", "1.5ns..", "1e3..", "nan..", " 1..",
        "99999999999999999999..", "99999999999999999999ns.."}) {
    const auto parsed = parse_window(text);
    EXPECT_FALSE(parsed.ok()) << text;
    if (parsed.ok()) continue;
    EXPECT_THAT(parsed.status().message(), HasSubstr("--window: "));
    EXPECT_THAT(parsed.status().message(), HasSubstr("want A..B"));
    EXPECT_EQ(parsed.status().message().find('\n'), std::string::npos);
  }
}

timeline::JobResult job_from(std::int64_t begin_s, std::int64_t end_s) {
  timeline::JobResult job;
  timeline::Piece piece;
  piece.t0_ns = begin_s * kS;
  piece.t1_ns = end_s * kS;
  piece.sums[timeline::Bucket::effective] = piece.t1_ns - piece.t0_ns;
  job.ledger.add(piece);
  job.ledger.seal();
  job.outside = {{(begin_s - 10) * kS, begin_s * kS, true}};
  return job;
}

TEST(Window, IsPlacedOnTheJob) {
  const timeline::JobResult job = job_from(100, 200);
  const auto placed = [&](const char* text) {
    return resolve_window(parse_window(text).value(), job);
  };
  EXPECT_EQ(placed("10..20").value().from_ns, 110 * kS);
  EXPECT_EQ(placed("10..20").value().to_ns, 120 * kS);
  EXPECT_EQ(placed("-30..-10").value().from_ns, 170 * kS);
  EXPECT_EQ(placed("-30..-10").value().to_ns, 190 * kS);
  EXPECT_EQ(placed("..").value().from_ns, 90 * kS);       // with what it waited
  EXPECT_EQ(placed("..").value().to_ns, 200 * kS + 1);    // with its last instant
  EXPECT_EQ(placed("50..1h").value().to_ns, 3'700 * kS);  // may reach beyond
  EXPECT_FALSE(placed("20..10").ok());
  EXPECT_FALSE(placed("20..20").ok());
  EXPECT_FALSE(placed("300..").ok());
}

}  // namespace
}  // namespace headway::cli
