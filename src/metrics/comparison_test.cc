#include "metrics/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline/test_stream.h"

namespace headway::metrics {
namespace {

using timeline::Bucket;
using timeline::test::sec;
using timeline::test::Story;

// Ten steps of a second, killed after the sixth; what is restored says how many are redone.
Report interrupted(std::int64_t restored, double pause_s) {
  Story s;
  s.as(1).mark(0, HW_MARK_ALLOCATED).mark(1, HW_MARK_LAUNCHER_START).steps(4, 1, 1, 6);
  if (restored > 0) s.durable(9, restored);
  s.fail(10, {.origin = HW_ORIGIN_INFRA, .rank = 0}).exit(10, {.signal = 9});
  const double again = 10 + pause_s;
  s.as(2).mark(again, HW_MARK_LAUNCHER_START).restore(again + 1, restored);
  s.steps(again + 2, 1, restored + 1, 10 - static_cast<int>(restored));
  s.exit(again + 2 + static_cast<double>(10 - restored));
  const event::JobStreams streams = s.streams();
  Report r = make_report(timeline::attribute_job(streams, {}), streams);
  r.state = "finished";
  return r;
}

const Compared& number(const Comparison& c, std::string_view name) {
  for (const Compared& row : c.numbers) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "there is no " << name;
  return c.numbers.front();
}

TEST(Comparison, SaysHowManyTimesAndWhoIsBetter) {
  const Comparison c = compare(interrupted(5, 1), interrupted(1, 4));
  EXPECT_TRUE(c.same_work) << c.notes.front();
  const Compared& replayed = number(c, "replayed_steps");
  EXPECT_EQ(replayed.job, 1);
  EXPECT_EQ(replayed.against, 5);
  EXPECT_DOUBLE_EQ(*replayed.ratio(), 0.2);
  EXPECT_EQ(replayed.verdict(), Verdict::better);
  EXPECT_EQ(number(c, "time_to_recover_ns").job, sec(3));
  EXPECT_EQ(number(c, "time_to_recover_ns").against, sec(6));
  EXPECT_EQ(number(c, "ett_pct").verdict(), Verdict::better) << "more is wanted";
  EXPECT_EQ(number(c, "time_to_start_ns").verdict(), Verdict::same);
  EXPECT_EQ(number(c, "new_steps").verdict(), Verdict::none);
  EXPECT_EQ(compare(interrupted(1, 4), interrupted(5, 1)).numbers[0].verdict(), Verdict::worse);
}

TEST(Comparison, BucketsAreThoseOfTheReports) {
  const Report job = interrupted(5, 1), against = interrupted(1, 4);
  const Comparison c = compare(job, against);
  double walls[2] = {0, 0};
  for (const Compared& row : c.buckets) {
    walls[0] += *row.job;
    walls[1] += *row.against;
  }
  EXPECT_EQ(walls[0], job.wall_ns);
  EXPECT_EQ(walls[1], against.wall_ns);
  const Compared& effective = c.buckets[timeline::index(Bucket::effective)];
  EXPECT_EQ(effective.job, sec(10));
  EXPECT_EQ(effective.against, sec(10));
  EXPECT_EQ(effective.verdict(), Verdict::none) << "as much work is neither good nor bad";
}

TEST(Comparison, NothingIsDividedByNothing) {
  Report never = interrupted(5, 1);
  never.time_to_recover_ns.clear();
  never.unsaved_ns = 0;
  Comparison c = compare(interrupted(5, 1), never);
  EXPECT_EQ(number(c, "time_to_recover_ns").against, std::nullopt);
  EXPECT_EQ(number(c, "time_to_recover_ns").verdict(), Verdict::none);
  EXPECT_EQ(number(c, "unsaved_ns").ratio(), std::nullopt);
  EXPECT_EQ(number(c, "unsaved_ns").verdict(), Verdict::worse);

  never.coverage.ranks_reporting = 0;  // a launcher's word alone is no measurement
  c = compare(never, interrupted(5, 1));
  EXPECT_EQ(number(c, "ett_pct").job, std::nullopt);
  EXPECT_EQ(number(c, "replayed_steps").job, std::nullopt);
  EXPECT_NE(number(c, "wall_ns").job, std::nullopt);
}

TEST(Comparison, OtherWorkIsSaid) {
  Report shorter = interrupted(5, 1);
  shorter.job = "shorter";
  shorter.state = "failed";
  shorter.steps -= 2;
  const Comparison c = compare(interrupted(5, 1), shorter);
  EXPECT_FALSE(c.same_work);
  EXPECT_EQ(c.notes,
            (std::vector<std::string>{"shorter failed.", "10 and 8 new steps were trained."}));
}

TEST(Comparison, JsonNamesTheBetterOne) {
  const auto json = nlohmann::json::parse(to_json(compare(interrupted(5, 1), interrupted(1, 4))));
  EXPECT_EQ(json["numbers"]["replayed_steps"]["job"], 1);
  EXPECT_EQ(json["numbers"]["replayed_steps"]["against"], 5);
  EXPECT_EQ(json["numbers"]["replayed_steps"]["better"], "job");
  EXPECT_EQ(json["numbers"]["interruptions"]["better"], nullptr);
  EXPECT_EQ(json["wasted"]["replay_ns"]["job"], sec(1));
  EXPECT_EQ(json["l2"]["effective_ns"]["ratio"], 1.0);
  EXPECT_EQ(json["same_work"], true);
}

}  // namespace
}  // namespace headway::metrics
