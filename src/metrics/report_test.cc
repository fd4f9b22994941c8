#include "metrics/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline/test_stream.h"

namespace headway::metrics {
namespace {

using timeline::Bucket;
using timeline::JobResult;
using timeline::test::sec;
using timeline::test::Story;

Story crash_and_replay() {
  Story s;
  s.as(1)
      .mark(0, HW_MARK_ALLOCATED)
      .mark(1, HW_MARK_LAUNCHER_START)
      .steps(4, 1, 1, 10)
      .durable(9, 5);
  s.fail(14.5, {.origin = HW_ORIGIN_INFRA, .rank = 0}).exit(15, {.signal = 9});
  s.as(2).mark(17, HW_MARK_LAUNCHER_START).restore(18, 5).steps(20, 1, 6, 10).exit(31);
  return s;
}

Report report_of(const Story& s, std::optional<Window> window = std::nullopt) {
  const event::JobStreams streams = s.streams();
  return make_report(timeline::attribute_job(streams, {}), streams, window);
}

TEST(Report, ThreeNumbersAddUpToAHundred) {
  const Report r = report_of(crash_and_replay());
  EXPECT_DOUBLE_EQ(r.ett_pct + r.idleness_pct + r.failure_pct, 100.0);
  EXPECT_EQ(r.wall_ns, sec(31));
  EXPECT_NEAR(r.ett_pct, 100.0 * 15 / 31, 1e-9);
  // interrupted 0.5, down 0.5 + 2, start-up 3, replay 5
  EXPECT_EQ(r.failure_ns, sec(11));
}

TEST(Report, TheFarthestTierOfAnyRankIsTheAttempts) {
  const auto tier_of = [](std::vector<const char*> tiers, std::int64_t last_step) {
    Story s;
    s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(4, 1, 1, 5).exit(9, {.signal = 9});
    for (std::uint32_t rank = 0; rank < tiers.size(); ++rank) {
      const std::int64_t step = rank + 1 == tiers.size() ? last_step : 5;
      s.as(2, rank).mark(10, HW_MARK_LAUNCHER_START).restore_from(11 + rank, step, tiers[rank]);
      s.steps(20, 1, 6, 2).exit(23);
    }
    return report_of(s).attempts.at(1).restored_tier;
  };
  EXPECT_EQ(tier_of({"replica", "peer", "replica-copy"}, 5), "peer");
  EXPECT_EQ(tier_of({"peer", "replica"}, 5), "peer");
  EXPECT_EQ(tier_of({"replica", "replica-copy"}, 5), "replica-copy");
  EXPECT_EQ(tier_of({"disk", "store"}, 5), "store");
  EXPECT_EQ(tier_of({"replica", "peer"}, 4), "replica") << "of another step";
  EXPECT_EQ(tier_of({"ours", "disk"}, 5), "ours") << "a word of the script's own";
  EXPECT_EQ(tier_of({"replica", "ours"}, 5), "replica");
}

TEST(Report, L1) {
  const Report r = report_of(crash_and_replay());
  EXPECT_EQ(r.time_to_start_ns, sec(4));
  EXPECT_EQ(r.time_to_recover_ns, std::vector<std::int64_t>{sec(5.5)});
  EXPECT_EQ(r.time_to_new_data_ns, std::vector<std::int64_t>{sec(10.5)});
  EXPECT_EQ(r.failures, 1u);
  EXPECT_EQ(r.unsaved_ns, sec(5));
  EXPECT_EQ(r.saves, 1u);
}

TEST(Report, NewDataMayComeBeforeTheLastCompilationOfTheFirstStep) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(4, 1, 1, 10).durable(14, 10);
  s.fail(14.5, {.origin = HW_ORIGIN_INFRA, .rank = 0}).exit(15, {.signal = 9});
  s.as(2).mark(17, HW_MARK_LAUNCHER_START).restore(18, 10);
  s.put(20, event::EventType::step, 0, 11, HW_NO_DATA)
      .span(21, 24, HW_PHASE_COMPILE)
      .step_end(25, 11)
      .exit(26);
  const Report r = report_of(s);
  EXPECT_EQ(r.time_to_recover_ns, std::vector<std::int64_t>{sec(9.5)});
  EXPECT_EQ(r.time_to_new_data_ns, std::vector<std::int64_t>{sec(5.5)});
}

TEST(Report, WhatFailuresCostAddsUpToFailurePct) {
  Story s;
  for (int a = 1; a <= 4; ++a) {
    s.as(a).mark(a * 100, HW_MARK_LAUNCHER_START).steps(a * 100 + 5, 1, a * 10, 20 + a);
    s.fail(a * 100 + 40).exit(a * 100 + 42, {.signal = 9});
  }
  const Report r = report_of(s);
  std::int64_t lost = 0;
  for (const FailureRow& row : r.failure_rows) lost += row.lost_ns;
  EXPECT_EQ(lost, r.failure_ns);
  EXPECT_EQ(r.failure_rows.size(), 4u);
}

TEST(Report, OriginsAreCountedApart) {
  Story s;
  const int origins[] = {HW_ORIGIN_USER, HW_ORIGIN_PREEMPTION, HW_ORIGIN_INFRA, HW_ORIGIN_UNKNOWN};
  for (int a = 1; a <= 4; ++a) {
    s.as(a).mark(a * 10, HW_MARK_LAUNCHER_START).fail(a * 10 + 5, {.origin = origins[a - 1]});
  }
  const Report r = report_of(s);
  EXPECT_EQ(r.failures, 2u);
  EXPECT_EQ(r.user_errors, 1u);
  EXPECT_EQ(r.preemptions, 1u);
  EXPECT_TRUE(r.time_to_recover_ns.empty());
}

TEST(Report, WindowsSumToTheWhole) {
  const Story s = crash_and_replay();
  const Report whole = report_of(s);
  timeline::Sums sum;
  std::size_t failures = 0;
  for (int i = -1; i < 32; ++i) {
    const Report part = report_of(s, Window{sec(i), sec(i + 1)});
    sum += part.sums;
    failures += part.failure_rows.size();
  }
  EXPECT_EQ(sum, whole.sums);
  EXPECT_EQ(failures, whole.failure_rows.size());
}

TEST(Report, AStragglerIsNamed) {
  Story s;
  for (std::uint32_t r = 0; r < 4; ++r) {
    s.as(1, r).mark(0, HW_MARK_LAUNCHER_START);
    for (int n = 1; n <= 50; ++n) s.step(n - 1, n - (r == 2 ? 0.0 : 0.3), n);
    s.exit(50);
  }
  const Report report = report_of(s);
  ASSERT_EQ(report.ranks.size(), 4u);
  for (const RankRow& row : report.ranks) EXPECT_EQ(row.straggler, row.rank == 2) << row.rank;
  EXPECT_EQ(report.ranks[2].slow_in, "training");
}

TEST(Report, AStragglerIsNamedWithWhatItDoesLonger) {
  Story s;
  for (std::uint32_t r = 0; r < 4; ++r) {
    s.as(1, r).mark(0, HW_MARK_LAUNCHER_START);
    for (int n = 1; n <= 50; ++n) {
      const double late = r == 2 ? 0.3 : 0.0;
      s.span(n - 1, n - 0.9 + late, HW_PHASE_DATA_WAIT).step(n - 0.9 + late, n - 0.3 + late, n);
    }
    s.exit(50);
  }
  const Report report = report_of(s);
  ASSERT_TRUE(report.ranks[2].straggler);
  EXPECT_EQ(report.ranks[2].slow_in, "data_wait");
}

TEST(Report, JsonFollowsTheContract) {
  const auto json = nlohmann::json::parse(to_json(report_of(crash_and_replay())));
  for (const char* key :
       {"job", "wall_ns", "queued_ns", "ett_pct", "idleness_pct", "failure_pct", "l1", "l2", "l3",
        "wasted", "unsaved_ns", "checkpoint", "failures", "attempts", "coverage"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  std::int64_t l2 = 0;
  for (const auto& [key, ns] : json["l2"].items()) l2 += ns.get<std::int64_t>();
  EXPECT_EQ(l2, json["wall_ns"]);
  EXPECT_EQ(json["l2"]["wasted_ns"], json["wasted"]["replay_ns"].get<std::int64_t>() +
                                         json["wasted"]["interrupted_step_ns"].get<std::int64_t>());
  EXPECT_EQ(json["failures"][0]["origin"], "infra");
  EXPECT_EQ(json["coverage"]["ranks_reporting"], 1);
}

TEST(Report, NamesThatAreNotUtf8DoNotBreakTheJson) {
  Story s;
  const event::PhaseId odd = s.names().intern("caf\xe9");
  s.mark(0, HW_MARK_LAUNCHER_START).span(1, 2, odd).exit(3);
  EXPECT_NO_THROW(nlohmann::json::parse(to_json(report_of(s))));
}

TEST(Report, AnEmptyJobIsAllZero) {
  event::JobStreams nothing;
  nothing.job = "empty";
  const Report r = make_report(timeline::attribute_job(nothing, {}), nothing);
  EXPECT_EQ(r.wall_ns, 0);
  EXPECT_EQ(r.ett_pct, 0);
}

TEST(Report, CountsFailedSavesAndWhatRestartsBeganFrom) {
  Story s;
  const auto failed = [&](double t, std::int64_t step) {
    s.put(t, event::EventType::checkpoint, HW_CHECKPOINT_FAILED, step, HW_NO_DATA);
  };
  for (const std::uint32_t rank : {0u, 1u}) {
    s.as(1, rank).steps(0, 1, 1, 5).durable(5, 5).steps(5, 1, 6, 5);
    s.put(10, event::EventType::checkpoint, HW_CHECKPOINT_STAGED, 10, HW_NO_DATA);
    failed(11, 10);
    s.steps(11, 1, 11, 2);
    s.as(2, rank).restore_from(20, 10, rank == 0 ? "replica" : "peer").steps(20, 1, 11, 5);
    s.as(3, rank).steps(30, 1, 1, 3);
  }
  const Report r = make_report(s.tell(), s.streams());
  EXPECT_EQ(r.saves, 2u);
  EXPECT_EQ(r.failed_saves, 1u) << "all ranks tell of the same one";
  EXPECT_EQ(r.restarts, (std::map<std::string, std::uint64_t>{{"peer", 1}, {"none", 1}}));
  const auto json = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(json["checkpoint"]["failed"], 1);
  EXPECT_EQ(json["checkpoint"]["restarts"]["peer"], 1);
  EXPECT_EQ(r.coverage.anomalies.unknown_events, 0u);
}

}  // namespace
}  // namespace headway::metrics
