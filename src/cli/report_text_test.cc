// Properties of the text that no single golden file shows.
#include "cli/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/page.h"

namespace headway::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using timeline::Bucket;

constexpr std::int64_t kS = 1'000'000'000;

metrics::AttemptRow attempt(std::int64_t id, std::int64_t begin_s) {
  metrics::AttemptRow a;
  a.id = id;
  a.begin_ns = begin_s * kS;
  a.end_ns = (begin_s + 10) * kS;
  a.outcome = "failed";
  a.bar.assign(64, Bucket::init_imports);
  return a;
}

metrics::Report big_report() {
  metrics::Report r;
  r.job = "big\x1b[31m";
  r.end_ns = 1'000 * kS;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) r.sums.ns[i] = (1 + i % 5) * kS;
  r.wall_ns = r.sums.total();
  r.failure_ns = r.sums.always_failure();
  r.time_to_recover_ns.assign(100, 7 * kS);
  for (std::int64_t i = 0; i < 100; ++i) {
    r.attempts.push_back(attempt(i + 1, 10 * i));
    metrics::FailureRow f;
    f.t_ns = (10 * i + 9) * kS;
    f.attempt = i + 1;
    f.origin = "unknown";
    f.reason = std::string(300, 'r') + "\x1b]0;title\a";
    f.time_to_recover_ns = 7 * kS;
    r.failure_rows.push_back(f);
  }
  r.failures = 100;
  for (std::uint32_t rank = 0; rank < 5'000; ++rank) {
    metrics::RankRow row;
    row.rank = rank;
    row.straggler = rank % 2 == 0;
    row.held_up_ns = rank * kS;
    r.ranks.push_back(row);
  }
  r.coverage.ranks_expected = 5'000;
  r.coverage.ranks_reporting = 4'999;
  r.coverage.notes.assign(50, "a note");
  return r;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ReportText, NoLineIsWiderThanAllowed) {
  const metrics::Report r = big_report();
  for (const bool unicode : {false, true}) {
    for (const int width : {width_min, 80, 100, 200, width_max}) {
      TextOptions options;
      options.style = {.color = false, .unicode = unicode, .width = width};
      for (const std::string& line : lines_of(to_text(r, options))) {
        EXPECT_LE(columns_of(line), width) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      }
    }
  }
}

TEST(ReportText, NewDataIsNeverToldToComeBeforeTheRecovery) {
  metrics::Report r = big_report();
  r.failure_rows.resize(2);
  const auto recovery_with = [&](std::int64_t first_s, std::int64_t second_s) {
    r.time_to_recover_ns.clear();
    r.time_to_new_data_ns.clear();
    for (const std::int64_t s : {first_s, second_s}) {
      metrics::FailureRow& row = r.failure_rows[r.time_to_new_data_ns.size()];
      r.time_to_recover_ns.push_back(*(row.time_to_recover_ns = 7 * kS));
      r.time_to_new_data_ns.push_back(*(row.time_to_new_data_ns = s * kS));
    }
    TextOptions options;
    options.style = {.color = false, .unicode = false, .width = 200};
    for (const std::string& line : lines_of(to_text(r, options))) {
      if (line.find("Time to recover") != std::string::npos) return line;
    }
    return std::string();
  };
  EXPECT_THAT(recovery_with(5, 7), HasSubstr("7.000 s, 7.000 s; new data from the first step on"));
  EXPECT_THAT(recovery_with(5, 9), HasSubstr("; new data after 9.000 s where steps were repeated"));
  EXPECT_THAT(recovery_with(8, 9), testing::EndsWith("; new data after 8.000 s, 9.000 s"));
}

TEST(ReportText, AsciiStyleHasOnlyAscii) {
  TextOptions options;
  options.style = {.color = false, .unicode = false, .width = 80};
  const std::string text = to_text(big_report(), options);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{c};
}

TEST(ReportText, ColourAddsOnlyCodes) {
  TextOptions options;
  options.style = {.color = true, .unicode = true, .width = 100};
  std::string text = to_text(big_report(), options);
  EXPECT_THAT(text, Not(HasSubstr("\x1b]")));  // nothing of the reasons
  for (std::size_t at = text.find('\x1b'); at != std::string::npos;
       at = text.find('\x1b', at + 1)) {
    EXPECT_EQ(text[at + 1], '[');
    EXPECT_NE(text.find('m', at), std::string::npos);
  }
}

TEST(ReportText, ManyRowsAreSummed) {
  TextOptions options;
  options.style = {.color = false, .unicode = true, .width = 100};
  const std::string text = to_text(big_report(), options);
  EXPECT_THAT(text, HasSubstr("... 94 attempts between are not shown"));
  EXPECT_THAT(text, HasSubstr("... 94 between are not shown"));
  EXPECT_THAT(text, HasSubstr("and 2497 more"));  // of 2500 stragglers
  EXPECT_THAT(text, HasSubstr("4 999 of 5 000 ranks left a record"));
  EXPECT_LT(lines_of(text).size(), 110u);
}

TEST(ReportText, WhatACacheSavedIsOfTheSlowestRank) {
  metrics::Report r = big_report();
  r.compile_cache.emplace();
  r.compile_cache->hits = 4;
  r.compile_cache->original_ns = 80 * kS;
  r.compile_cache->spent_ns = 1 * kS;
  TextOptions options;
  options.style = {.color = false, .unicode = false, .width = 120};
  r.compile_cache->ranks = 1;
  EXPECT_THAT(to_text(r, options), Not(HasSubstr("slowest rank")));
  r.compile_cache->ranks = 2;
  EXPECT_THAT(to_text(r, options), HasSubstr("1m 19s saved on the slowest rank"));
}

TEST(ReportText, NothingToDivide) {
  metrics::Report r;
  r.job = "fresh";
  TextOptions options;
  options.state = JobState::running;
  EXPECT_THAT(to_text(r, options), HasSubstr("no wall time yet"));
  r.queued_ns = 90 * kS;
  EXPECT_THAT(to_text(r, options), HasSubstr("waited 1m 30s for resources"));
  options.windowed = true;
  r.queued_ns = 0;
  EXPECT_THAT(to_text(r, options), HasSubstr("no wall time in this window"));
}

TEST(ReportText, TheCommandLineComesLast) {
  metrics::Report r;
  r.sums[Bucket::effective] = r.wall_ns = r.end_ns = 10 * kS;
  r.attrs = {{"argv", "python train.py"}, {"team", "ads"}};
  EXPECT_THAT(to_text(r, {}), HasSubstr("team=ads - argv=python train.py"));
}

TEST(ReportText, SaysWhereTheOutputOfWhoFailedIs) {
  metrics::Report r = big_report();
  r.failure_rows.back().rank = 3;
  r.failure_rows.back().log = "/a/" + std::string(200, 'x') + "/rank-3.log";
  EXPECT_THAT(to_text(r, {}), HasSubstr("output of attempt 100, rank 3: /a/xx"));
  EXPECT_THAT(to_text(r, {}), HasSubstr("/rank-3.log\n")) << "never cut";
}

TEST(ReportText, WhatALiveJobIsWritingIsNoSignOfDeath) {
  metrics::Report r;
  r.sums[Bucket::effective] = r.wall_ns = r.end_ns = 10 * kS;
  r.coverage.ranks_reporting = r.coverage.ranks_expected = 1;
  r.coverage.uncommitted_records = 3;
  TextOptions options;
  options.state = JobState::running;
  EXPECT_THAT(to_text(r, options), HasSubstr("3 records were being written while they were read"));
  options.state = JobState::clean;
  EXPECT_THAT(to_text(r, options), HasSubstr("3 records were being written when the process died"));
}

TEST(ReportText, ALiveJobThatStandsStillSaysSo) {
  metrics::Report r;
  r.sums[Bucket::effective] = r.wall_ns = r.end_ns = 100 * kS;
  r.steps = 60;
  for (int i = 0; i < 60; ++i) r.step_times.add(kS);
  r.last_step_end_ns = 60 * kS;
  TextOptions options;
  options.state = JobState::running;
  EXPECT_THAT(to_text(r, options), HasSubstr("none for 40.00 s"));
  r.last_step_end_ns = 95 * kS;
  EXPECT_THAT(to_text(r, options), Not(HasSubstr("none for")));
  r.last_step_end_ns = 60 * kS;
  options.state = JobState::clean;
  EXPECT_THAT(to_text(r, options), Not(HasSubstr("none for"))) << "it is over";
}

TEST(ReportText, CoverageIsSilentWhenAllIsWell) {
  metrics::Report r;
  r.sums[Bucket::effective] = r.wall_ns = r.end_ns = 10 * kS;
  EXPECT_THAT(to_text(r, {}), HasSubstr("ETT not measured"));
  EXPECT_THAT(to_text(r, {}), HasSubstr("No rank left a record"));
  r.coverage.ranks_reporting = r.coverage.ranks_expected = 1;
  EXPECT_THAT(to_text(r, {}), Not(HasSubstr("do not cover")));
  EXPECT_THAT(to_text(r, {}), HasSubstr("ETT 100.00%"));
  r.coverage.ranks_expected = 2;
  EXPECT_THAT(to_text(r, {}), HasSubstr("1 of 2 ranks left a record"));
  r.coverage.dropped_records = 1;
  EXPECT_THAT(to_text(r, {}), HasSubstr("1 record was dropped"));
}

}  // namespace
}  // namespace headway::cli
