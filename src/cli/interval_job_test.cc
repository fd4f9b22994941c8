#include "cli/interval_job.h"

#include <gtest/gtest.h>

#include "cli/interval_question.h"
#include "timeline/test_stream.h"

namespace headway::cli {
namespace {

using interval::Tier;
using interval::tier_of_failure;
using timeline::test::sec;
using timeline::test::Story;

constexpr metrics::Window kAll{-timeline::kTimeMax, timeline::kTimeMax};

IntervalJob measure(const Story& story, const metrics::Window& window = kAll) {
  return measure_job(story.streams(), story.tell(), window);
}

Story& staged(Story& story, double t, std::int64_t step) {
  return story.put(t, event::EventType::checkpoint, HW_CHECKPOINT_STAGED, step, HW_NO_DATA);
}

// Ten steps of 1 s, a save that blocks 2 s, eight steps of 1.5 s until it is durable, ten of 1 s.
void one_save(Story& s, double t, std::int64_t n) {
  s.steps(t, 1, n, 10);
  s.span(t + 10, t + 12, HW_PHASE_CHECKPOINT_BLOCKED);
  staged(s, t + 12, n + 9);
  s.steps(t + 12, 1.5, n + 10, 7);
  s.durable(t + 23, n + 9);
  s.steps(t + 22.5, 1.5, n + 17, 1);
  s.steps(t + 24, 1, n + 18, 10);
}

TEST(IntervalJob, SeesBlockingSlowStepsAndLag) {
  Story s;
  s.as(1);
  for (int i = 0; i < 4; ++i) one_save(s, 34 * i, 1 + 28 * i);
  const IntervalJob job = measure(s);
  EXPECT_EQ(job.saves, 4u);
  EXPECT_EQ(job.interference_known, 4u);
  EXPECT_NEAR(job.cost.blocking_s, 2, 1e-9);
  EXPECT_NEAR(job.cost.interference_s, 8 * 0.5, 1e-9);
  EXPECT_NEAR(job.cost.persist_lag_s, 11, 1e-9);
  EXPECT_NEAR(job.base_step_s.value(), 1, 1e-9);
  EXPECT_NEAR(job.used_interval_s.value(), 34, 1e-9);
  EXPECT_EQ(job.steps, 4u * 28);
  EXPECT_NEAR(job.loop_s, 4 * 34, 1e-9);
  EXPECT_NEAR(job.saving_s, 4 * 6, 1e-6);
  EXPECT_EQ(job.lost_s, 0);
  ASSERT_EQ(job.attempts.size(), 1u);
  EXPECT_FALSE(job.attempts[0].failure);
  double clean = 0;
  for (const float step_s : job.attempts[0].steps_s) clean += step_s;
  EXPECT_NEAR(clean, 4 * 28, 1e-3) << "what saves cost is not in the steps";
}

TEST(IntervalJob, ASaveThatBlocksToTheEndHasNoLag) {
  Story s;
  s.as(1).steps(0, 1, 1, 10).span(10, 15, HW_PHASE_CHECKPOINT_BLOCKED).durable(15, 10);
  s.steps(15, 1, 11, 10).span(25, 30, HW_PHASE_CHECKPOINT_BLOCKED).durable(30, 20);
  s.steps(30, 1, 21, 10);
  const IntervalJob job = measure(s);
  EXPECT_NEAR(job.cost.blocking_s, 5, 1e-9);
  EXPECT_NEAR(job.cost.interference_s, 0, 1e-9);
  EXPECT_EQ(job.cost.persist_lag_s, 0);
  EXPECT_NEAR(job.used_interval_s.value(), 15, 1e-9);
}

// The word may come while the loop still stands.
TEST(IntervalJob, BlockingBelongsToTheSaveThatWasSpokenOfInIt) {
  Story s;
  s.as(1).steps(0, 1, 1, 10).begin(10, HW_PHASE_CHECKPOINT_BLOCKED).durable(13, 10);
  s.end(14, HW_PHASE_CHECKPOINT_BLOCKED).steps(14, 1, 11, 10);
  const IntervalJob job = measure(s);
  EXPECT_EQ(job.saves, 1u);
  EXPECT_NEAR(job.cost.blocking_s, 4, 1e-9);
}

TEST(IntervalJob, TwoSavesBetweenTwoStepsEachHaveTheirOwnBlocking) {
  Story s;
  s.as(1).steps(0, 1, 1, 10).span(10, 12, HW_PHASE_CHECKPOINT_BLOCKED).durable(12, 9);
  s.span(13, 17, HW_PHASE_CHECKPOINT_BLOCKED).durable(17, 10).steps(17, 1, 11, 10);
  const IntervalJob job = measure(s);
  EXPECT_EQ(job.saves, 2u);
  EXPECT_NEAR(job.cost.blocking_s, 3, 1e-9);
  EXPECT_NEAR(job.used_interval_s.value(), 5, 1e-9) << "from 12 to 17";
}

TEST(IntervalJob, EvaluationIsNeitherAStepNorASave) {
  Story s;
  s.as(1).steps(0, 1, 1, 10).span(10, 12, HW_PHASE_CHECKPOINT_BLOCKED);
  staged(s, 12, 10);
  s.span(12, 42, HW_PHASE_EVAL).steps(42, 1, 11, 5).durable(46.5, 10).steps(47, 1, 16, 10);
  const IntervalJob job = measure(s);
  EXPECT_NEAR(job.cost.interference_s, 0, 1e-9);
  EXPECT_NEAR(job.loop_s, 57, 1e-9) << "it is time in the loop all the same";
}

TEST(IntervalJob, TheRankThatStandsLongestIsLookedAt) {
  Story s;
  for (const std::uint32_t rank : {0u, 1u}) {
    const double blocked = rank == 0 ? 0.5 : 3;
    s.as(1, rank).steps(0, 1, 1, 10).span(10, 10 + blocked, HW_PHASE_CHECKPOINT_BLOCKED);
    s.durable(13, 10).step(13, 14, 11).steps(14, 1, 12, 9);
  }
  const IntervalJob job = measure(s);
  EXPECT_EQ(job.saves, 1u) << "all ranks speak of the same one";
  EXPECT_NEAR(job.cost.blocking_s, 3, 1e-9);
}

TEST(IntervalJob, CountsWhatFailuresLost) {
  Story s;
  s.as(1).steps(0, 1, 1, 20).span(20, 21, HW_PHASE_CHECKPOINT_BLOCKED).durable(21, 20);
  s.steps(21, 1, 21, 10).step(31, 99, 31);  // never ends
  s.as(1, event::kAgentRank).fail(31.5, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  s.exit(32, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  s.as(2, event::kAgentRank).mark(33, HW_MARK_LAUNCHER_START);
  s.fail(35, {.exit_code = 1, .origin = HW_ORIGIN_USER, .rank = 0}).exit(35, {.exit_code = 1});
  s.as(3, event::kAgentRank).mark(36, HW_MARK_LAUNCHER_START);
  s.as(3).restore(37, 20).steps(38, 1, 21, 30);
  const IntervalJob job = measure(s);
  EXPECT_EQ(job.history[Tier::process], 1);
  EXPECT_EQ(job.history.total(), 1);
  EXPECT_EQ(job.failed_before_step, 1u);
  EXPECT_NEAR(job.lost_s, 10.5, 1e-6) << "ten steps, and half of one";
  ASSERT_EQ(job.attempts.size(), 2u);
  EXPECT_EQ(job.attempts[0].failure, Tier::process);
  EXPECT_NEAR(job.attempts[0].wall_s, 31.5, 1e-6);
  EXPECT_FALSE(job.attempts[1].failure);
  EXPECT_DOUBLE_EQ(job.history.seconds, job.loop_s);
}

// Attempts of 20 steps, each killed, each going on from the tier that is named.
Story restarted_from(const std::vector<const char*>& tiers) {
  Story s;
  s.as(1).steps(0, 1, 1, 20);
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const double t = 40.0 * static_cast<double>(i + 1);
    const auto attempt = static_cast<std::int64_t>(i) + 1;
    s.as(attempt, event::kAgentRank);
    s.fail(t - 15, {.signal = 9, .origin = HW_ORIGIN_UNKNOWN, .rank = 0});
    s.exit(t - 14, {.signal = 9, .origin = HW_ORIGIN_UNKNOWN, .rank = 0});
    const std::int64_t step = 20 * attempt;
    s.as(attempt + 1).restore_from(t, step, tiers[i]).steps(t, 1, step + 1, 20);
  }
  return s;
}

TEST(IntervalJob, CountsWhatAnsweredEachFailure) {
  using interval::Answer;
  const IntervalJob disk = measure(restarted_from({"disk", "store"}));
  EXPECT_FALSE(disk.replica);
  EXPECT_EQ(disk.answered.total(Answer::durable), 2);
  const IntervalJob job =
      measure(restarted_from({"replica", "disk", "replica-copy", "peer", "my-own-words"}));
  EXPECT_TRUE(job.replica);
  EXPECT_EQ(job.history[Tier::process], 5);
  EXPECT_EQ(job.answered.total(Answer::staged), 3);
  EXPECT_EQ(job.answered.total(Answer::durable), 2);
  ASSERT_EQ(job.attempts.size(), 6u);
  EXPECT_EQ(job.attempts[0].answer, Answer::staged);
  EXPECT_EQ(job.attempts[1].answer, Answer::durable);
  EXPECT_EQ(job.attempts[5].answer, std::nullopt);
  const IntervalQuestion question = question_of(job);
  EXPECT_FALSE(question.replica) << "no save was seen: nothing is known of what one costs";
}

TEST(IntervalJob, SavesIntoMemoryOnlyAreNotThoseInUse) {
  Story s;
  s.as(1);
  for (int i = 0; i < 40; ++i) {  // into memory every 5 s, on to storage every 20 s
    s.steps(6 * i, 1, 1 + 5 * i, 5).span(6 * i + 5, 6 * i + 6, HW_PHASE_CHECKPOINT_BLOCKED);
    staged(s, 6 * i + 6, 5 + 5 * i);
    if (i % 4 == 3) s.durable(6 * i + 6.5, 5 + 5 * i);
  }
  s.steps(240, 1, 201, 20);
  const IntervalJob job = measure(s);
  EXPECT_EQ(job.saves, 40u);
  EXPECT_NEAR(job.used_interval_s.value(), 24, 1e-9);
  EXPECT_NEAR(job.cost.blocking_s, 1, 1e-9);
  EXPECT_GT(job.interference_known, 0u);
  EXPECT_NEAR(job.cost.interference_s, 0, 1e-9);
}

// Attempts from step `first` to `last`: a second each and 0.1 s for a copy into memory, and every
// twentieth goes on to storage.
void in_memory_after_every_step(Story& s, double t, std::int64_t first, std::int64_t last) {
  for (std::int64_t n = first; n <= last; ++n, t += 1.1) {
    s.step(t, t + 1, n).span(t + 1, t + 1.1, HW_PHASE_CHECKPOINT_BLOCKED);
    staged(s, t + 1.1, n);
    if (n % 20 == 0) s.durable(t + 1.5, n);
  }
}

TEST(IntervalJob, SavesThatADeadAttemptLeftInMemoryAreNotThoseInUse) {
  Story s;
  in_memory_after_every_step(s.as(1), 0, 1, 57);
  s.as(1, event::kAgentRank).fail(63, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  s.exit(64, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  in_memory_after_every_step(s.as(2).restore_from(65, 57, "replica"), 66, 58, 75);
  s.as(2, event::kAgentRank).fail(87, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  s.exit(88, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  in_memory_after_every_step(s.as(3).restore_from(90, 75, "replica"), 91, 76, 100);
  const IntervalJob job = measure(s);
  ASSERT_EQ(job.attempts.size(), 3u);
  EXPECT_EQ(job.saves, 100u);
  EXPECT_NEAR(job.used_interval_s.value(), 22, 1e-6);
  EXPECT_NEAR(job.base_step_s.value(), 1, 1e-6);
}

TEST(IntervalJob, WhereNoSaveGotToStorageTheMemoryIsNotTakenForIt) {
  Story s;
  in_memory_after_every_step(s.as(1), 0, 1, 19);
  EXPECT_NEAR(measure(s).used_interval_s.value(), 1.1, 1e-6) << "it only says so much of its saves";
  s.as(1, event::kAgentRank).fail(22, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  s.as(2).restore_from(24, 19, "replica").steps(25, 1, 20, 5);
  EXPECT_FALSE(measure(s).used_interval_s);
}

TEST(IntervalQuestion, AShortRecordSaysSo) {
  IntervalJob job;
  job.loop_s = 190;
  job.saves = 2;
  EXPECT_EQ(too_short(job),
            "The record is 3 min long, with 2 saves and no failure: too short to say how often to "
            "save.");
  job.history[Tier::process] = 1;
  job.saves = 1;
  job.loop_s = 12;
  EXPECT_EQ(too_short(job),
            "The record is 12 s long, with 1 save and 1 failure: too short to say how often to "
            "save.");
  EXPECT_TRUE(too_short(job, {.rate = true})) << "what a save costs is not known";
  EXPECT_TRUE(too_short(job, {.cost = true})) << "how often it fails is not known";
  EXPECT_FALSE(too_short(job, {.cost = true, .rate = true}));
  job.saves = saves_min;
  EXPECT_FALSE(too_short(job, {.rate = true}));
  job.loop_s = record_min_s;
  EXPECT_FALSE(too_short(job));
}

TEST(IntervalQuestion, MemoryThatAnswersIsReckonedWith) {
  IntervalJob job;
  job.loop_s = 86'400;
  job.saves = 50;
  job.cost.blocking_s = job.cost.stage_s = 0.1;
  job.cost.interference_s = 10;
  job.history[Tier::process] = 9;
  const double alone_s = answer(question_of(job)).plan.persist_s;
  job.replica = true;
  for (int i = 0; i < 9; ++i) job.answered.add(Tier::process, interval::Answer::staged);
  const interval::Plan plan = answer(question_of(job)).plan;
  EXPECT_LT(plan.stage_s, alone_s / 4);
  EXPECT_GT(plan.persist_s, alone_s * 2) << "few failures need the storage";
}

TEST(IntervalJob, AHangIsNotLostTraining) {
  Story s;
  s.as(1).steps(0, 1, 1, 20);
  s.as(1, event::kAgentRank).fail(5000, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  const IntervalJob job = measure(s);
  EXPECT_NEAR(job.loop_s, 21, 1e-6);
}

TEST(IntervalJob, AWindowSeesItsOwnPartOnly) {
  Story s;
  s.as(1);
  for (int i = 0; i < 4; ++i) one_save(s, 34 * i, 1 + 28 * i);
  s.as(1, event::kAgentRank).fail(136, {.signal = 9, .origin = HW_ORIGIN_INFRA, .rank = 0});
  const IntervalJob later = measure(s, {sec(68), sec(200)});
  EXPECT_EQ(later.saves, 2u);
  EXPECT_NEAR(later.loop_s, 68, 1e-6);
  EXPECT_EQ(later.history.total(), 1);
  const IntervalJob earlier = measure(s, {sec(0), sec(68)});
  EXPECT_EQ(earlier.saves, 2u);
  EXPECT_EQ(earlier.history.total(), 0);
  EXPECT_EQ(measure(s, {sec(500), sec(600)}).steps, 0u);
}

TEST(IntervalJob, SurvivesTimesFromNowhere) {
  Story s;
  s.as(1).put_ns(INT64_MIN, event::EventType::begin, HW_PHASE_CHECKPOINT_BLOCKED);
  s.put_ns(INT64_MAX, event::EventType::end, HW_PHASE_CHECKPOINT_BLOCKED);
  s.put_ns(INT64_MAX, event::EventType::checkpoint, HW_CHECKPOINT_DURABLE, INT64_MIN);
  s.put_ns(INT64_MIN, event::EventType::checkpoint, HW_CHECKPOINT_STAGED, INT64_MAX);
  s.steps(0, 1, 1, 10).durable(5, 5).steps(-1e9, 1, 3, 5);
  const IntervalJob job = measure(s);
  EXPECT_GE(job.loop_s, 0);
  EXPECT_GE(job.saving_s, 0);
}

TEST(IntervalJob, TellsProcessesFromMachines) {
  const auto with = [](int origin, std::int64_t next_attempt) {
    Story s;
    s.as(1).steps(0, 1, 1, 5);
    s.as(1, event::kAgentRank).fail(6, {.signal = 9, .origin = origin, .rank = 0});
    s.as(next_attempt).steps(20, 1, 1, 5);
    return tier_of_failure(s.tell(), 0);
  };
  EXPECT_EQ(with(HW_ORIGIN_INFRA, 2), Tier::process);
  EXPECT_EQ(with(HW_ORIGIN_USER, 2), Tier::process);
  EXPECT_EQ(with(HW_ORIGIN_PREEMPTION, 2), Tier::node);
  EXPECT_EQ(with(HW_ORIGIN_INFRA, 65'537), Tier::node) << "another allocation";

  timeline::JobResult job;
  job.attempts.resize(2);
  job.attempts[0].failure.emplace();
  const auto on = [&](std::size_t i, std::vector<std::string> hosts) {
    job.attempts[i].ranks.clear();
    for (std::string& host : hosts) job.attempts[i].ranks.emplace_back().host = std::move(host);
  };
  on(0, {"a", "b"});
  on(1, {"a", "b"});
  EXPECT_EQ(tier_of_failure(job, 0), Tier::process);
  on(1, {"a", "c"});
  EXPECT_EQ(tier_of_failure(job, 0), Tier::node);
  on(1, {"c", "d"});
  EXPECT_EQ(tier_of_failure(job, 0), Tier::zone);
  on(0, {"a"});
  EXPECT_EQ(tier_of_failure(job, 0), Tier::node) << "one machine is no zone";
  job.attempts[0].failure.reset();
  on(1, {"a"});
  EXPECT_EQ(tier_of_failure(job, 0), Tier::node) << "nobody was left to say how it ended";
}

}  // namespace
}  // namespace headway::cli
