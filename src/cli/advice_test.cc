#include "cli/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using timeline::Bucket;

constexpr Style kStyle{.color = false, .unicode = false, .width = 100};
constexpr std::int64_t kS = 1'000'000'000;

metrics::Report report_with(std::initializer_list<std::pair<Bucket, std::int64_t>> seconds) {
  metrics::Report r;
  for (const auto& [bucket, s] : seconds) r.sums[bucket] = s * kS;
  r.wall_ns = r.sums.total();
  return r;
}

TEST(Losses, LargestFirstAndNeverTraining) {
  const auto losses = largest_losses(report_with({{Bucket::effective, 900},
                                                  {Bucket::down, 20},
                                                  {Bucket::init_imports, 30},
                                                  {Bucket::wasted_replay, 40},
                                                  {Bucket::wasted_eval, 10}}));
  ASSERT_EQ(losses.size(), losses_max);
  EXPECT_EQ(losses[0].bucket, Bucket::wasted_replay);
  EXPECT_EQ(losses[1].bucket, Bucket::init_imports);
  EXPECT_EQ(losses[2].bucket, Bucket::down);
}

TEST(Losses, TriflesAreLeftAlone) {
  EXPECT_TRUE(
      largest_losses(report_with({{Bucket::effective, 100'000}, {Bucket::down, 1}})).empty());
  EXPECT_TRUE(largest_losses(metrics::Report{}).empty());
}

TEST(Advice, ThereIsOneForEveryLoss) {
  const metrics::Report r;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    if (bucket == Bucket::effective) continue;
    const std::string text = advice_for(bucket, r, SaveAdvice(), kStyle);
    EXPECT_GT(text.size(), 40u) << timeline::bucket_name(bucket);
    EXPECT_LT(text.size(), 330u) << timeline::bucket_name(bucket);
    EXPECT_EQ(text.back(), '.') << text;
  }
}

TEST(Advice, AStageThatMostlyImportsSaysSo) {
  metrics::Report r = report_with({{Bucket::init_train_module, 3}});
  r.attempts.resize(2);
  r.attrs["import_in_train_module_creation"] = "torch._dynamo 1.42s";
  EXPECT_THAT(advice_for(Bucket::init_train_module, r, SaveAdvice(), kStyle),
              HasSubstr("Much of it is an import: torch._dynamo takes 1.42s"));
  r.sums[Bucket::init_train_module] = 30 * kS;
  EXPECT_THAT(advice_for(Bucket::init_train_module, r, SaveAdvice(), kStyle), HasSubstr("meta"));
}

TEST(SaveInterval, IsToldAsItWasWorkedOut) {
  metrics::Report r =
      report_with({{Bucket::effective, 86'400 - 360}, {Bucket::wasted_checkpoint_blocked, 360}});
  r.saves = 24;
  r.save_interval_s = 3'600;
  EXPECT_TRUE(wants_save_advice(r));
  SaveAdvice saves;
  saves.cost_s = 15;
  saves.persist_s = saves.stage_s = 929.5;
  EXPECT_THAT(advice_for(Bucket::wasted_replay, r, saves, kStyle),
              HasSubstr("Saves came every 1h 00m, 15.00 s each; by what this job shows one every "
                        "15m 30s costs least."));
  saves.stage_s = 20;
  EXPECT_THAT(advice_for(Bucket::wasted_checkpoint_blocked, r, saves, kStyle),
              HasSubstr("one every 15m 30s, into memory every 20.00 s, costs least."));
  // Saves are not known by the window.
  EXPECT_THAT(advice_for(Bucket::wasted_replay, r, {}, kStyle), Not(HasSubstr("15m")));
}

TEST(SaveInterval, IsNotToldWhereTheRecordIsTooShort) {
  metrics::Report r = report_with({{Bucket::effective, 100}, {Bucket::wasted_replay, 10}});
  r.saves = 2;
  SaveAdvice saves{.too_short = "The record is 2 min long.", .cost_s = 1, .persist_s = 77};
  const std::string text = advice_for(Bucket::wasted_replay, r, saves, kStyle);
  EXPECT_THAT(text, HasSubstr("There were 2 saves. The record is 2 min long."));
  EXPECT_THAT(text, Not(HasSubstr("77")));
}

TEST(SaveInterval, NeedsSavesThatCostSomething) {
  metrics::Report r = report_with({{Bucket::effective, 100}, {Bucket::wasted_replay, 10}});
  EXPECT_THAT(advice_for(Bucket::wasted_replay, r, SaveAdvice(), kStyle),
              HasSubstr("No checkpoint was recorded"));
  r.saves = 2;
  EXPECT_THAT(advice_for(Bucket::wasted_replay, r, SaveAdvice(), kStyle),
              HasSubstr("save more often"));
  EXPECT_FALSE(wants_save_advice(report_with({{Bucket::effective, 9}, {Bucket::down, 1}})));
}

TEST(Advice, NamesTheLastRank) {
  metrics::Report r = report_with({{Bucket::init_process_group, 100}});
  r.critical_stages = {{"process_group_init", 1, 3, 40 * kS}, {"imports", 1, 7, 90 * kS}};
  EXPECT_THAT(advice_for(Bucket::init_process_group, r, SaveAdvice(), kStyle),
              HasSubstr("Look at rank 3 first: it came 40.00 s after the next to last."));
}

TEST(Advice, SeesACrashLoop) {
  metrics::Report r = report_with({{Bucket::down, 100}, {Bucket::init_imports, 30}});
  for (std::int64_t id = 1; id <= 4; ++id) {
    metrics::FailureRow f;
    f.attempt = id;
    f.exit_code = id == 1 ? 9 : 1;
    r.failure_rows.push_back(f);
    metrics::AttemptRow a;
    a.id = id;
    a.outcome = "failed";
    a.sums[Bucket::init_imports] = 7 * kS;
    r.attempts.push_back(a);
  }
  EXPECT_THAT(advice_for(Bucket::down, r, SaveAdvice(), kStyle), HasSubstr("The last 3 attempts"));
  EXPECT_THAT(advice_for(Bucket::init_imports, r, SaveAdvice(), kStyle),
              HasSubstr("28.00 s of it was spent by attempts that failed"));
  r.attempts.back().steps = 1;
  EXPECT_THAT(advice_for(Bucket::down, r, SaveAdvice(), kStyle), HasSubstr("--max-restarts"));
}

TEST(Advice, ClaimsNothingWhereNoRankReported) {
  metrics::Report r = report_with({{Bucket::init_other, 100}});
  EXPECT_THAT(advice_for(Bucket::init_other, r, SaveAdvice(), kStyle),
              HasSubstr("Nothing is known"));
  r.coverage.ranks_reporting = 1;
  EXPECT_THAT(advice_for(Bucket::init_other, r, SaveAdvice(), kStyle),
              HasSubstr("no stage explains"));
}

TEST(Advice, RecompilesAreForHeadwayToo) {
  const std::string text =
      advice_for(Bucket::wasted_recompile, metrics::Report{}, SaveAdvice(), kStyle);
  for (const char* part : {"headway trace DIR --dynamic-sources", "headway run --auto-dynamic",
                           "TORCH_LOGS=recompiles", "mark_dynamic", "dynamic=True"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Advice, SpeaksOnlyOfWhatExists) {
  const metrics::Report r;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<Bucket>(i);
    if (bucket == Bucket::effective) continue;
    const std::string text = advice_for(bucket, r, SaveAdvice(), kStyle);
    for (std::size_t at = text.find("headway "); at != std::string::npos;
         at = text.find("headway ", at + 1)) {
      const std::string_view verb = std::string_view(text).substr(at);
      EXPECT_TRUE(verb.starts_with("headway run ") || verb.starts_with("headway trace ")) << text;
    }
  }
}

}  // namespace
}  // namespace headway::cli
