// Several ranks: who is charged, and who is named.
#include <gtest/gtest.h>

#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using test::sec;
using test::Story;

const RankShare& share(const JobResult& job, std::uint32_t rank) {
  for (const RankShare& s : job.attempts[0].ranks) {
    if (s.rank == rank) return s;
  }
  ADD_FAILURE() << "no rank " << rank;
  return job.attempts[0].ranks[0];
}

TEST(Ranks, TheLastRankThroughAStageDecidesAndIsNamed) {
  Story s;
  s.as(1, 0).mark(0, HW_MARK_LAUNCHER_START).span(0, 2, HW_PHASE_IMPORTS);
  s.span(2, 5.5, HW_PHASE_PROCESS_GROUP_INIT).step(6, 7, 1).exit(8);
  s.as(1, 1).span(0, 5, HW_PHASE_IMPORTS).span(5, 5.5, HW_PHASE_PROCESS_GROUP_INIT);
  s.step(6, 7, 1).exit(8);
  const JobResult job = s.tell();
  const Sums sums = job.ledger.total().sums;
  EXPECT_EQ(sums[Bucket::init_imports], sec(5));  // not the 3.5 s that rank 0 waited in the group
  EXPECT_EQ(sums[Bucket::init_process_group], sec(0.5));
  ASSERT_EQ(job.attempts[0].critical_stages.size(), 2u);
  EXPECT_EQ(job.attempts[0].critical_stages[0].phase, HW_PHASE_IMPORTS);
  EXPECT_EQ(job.attempts[0].critical_stages[0].rank, 1u);
  EXPECT_EQ(job.attempts[0].critical_stages[0].held_up_ns, sec(3));
  EXPECT_EQ(share(job, 0).sums[Bucket::init_process_group], sec(3.5));
  EXPECT_EQ(share(job, 0).sums.total(), sec(8));
}

TEST(Ranks, WhoDidNotReadTheCheckpointIsWhereTheOthersAre) {
  Story s;
  s.as(1, event::kAgentRank).mark(0, HW_MARK_LAUNCHER_START).mark(100, HW_MARK_LAUNCHER_START);
  for (std::uint32_t r = 0; r < 2; ++r) {
    s.as(1, r);
    for (int n = 1; n <= 30; ++n) s.step(n, n + 1, n, 8 * n);
  }
  s.as(1, event::kAgentRank).fail(31.5, {.signal = 9, .rank = 1});
  s.as(2, event::kAgentRank).mark(40, HW_MARK_LAUNCHER_START);
  s.as(2, 0).restore(41, 20, 160);
  for (std::uint32_t r = 0; r < 2; ++r) {
    s.as(2, r);
    const std::int64_t from = r == 0 ? 20 : 0;  // rank 1 got its weights from rank 0
    for (int n = 1; n <= 15; ++n) s.step(41 + n, 42 + n, from + n, 8 * (from + n));
  }
  s.as(2, event::kAgentRank).exit(57);
  const JobResult job = s.tell();
  ASSERT_EQ(job.attempts.size(), 2u);
  EXPECT_EQ(job.attempts[1].steps, 15u);
  EXPECT_EQ(job.attempts[1].first_step, 21);
  EXPECT_EQ(job.attempts[1].last_step, 35);
  EXPECT_EQ(job.attempts[1].replayed_steps, 10u);
  EXPECT_EQ(job.attempts[1].facts.anomalies.partial_steps, 0u);
  EXPECT_EQ(job.attempts[1].step_times.max_ns, sec(1));
}

TEST(Ranks, TheCriticalRanksWaitsAreCharged) {
  Story s;
  for (std::uint32_t r = 0; r < 2; ++r) s.as(1, r).mark(0, HW_MARK_LAUNCHER_START).step(0, 1, 1);
  // Rank 0 waits for data but is done early; rank 1 is the one that everybody waits for.
  s.as(1, 0).span(1, 1.25, HW_PHASE_DATA_WAIT).step(1.25, 1.75, 2).step(2, 3, 3).exit(3);
  s.as(1, 1).span(1, 1.5, HW_PHASE_DATA_WAIT).step(1.5, 2, 2).step(2, 3, 3).exit(3);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_data_wait], sec(0.5));
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(2.5));
  EXPECT_EQ(share(job, 1).critical_steps, 1u);
  EXPECT_EQ(share(job, 1).held_up_ns, sec(0.25));
  EXPECT_EQ(share(job, 0).sums[Bucket::wasted_data_wait], sec(0.25));
}

TEST(Ranks, OfRanksReleasedTogetherTheOneTheyWaitedForIsCharged) {
  Story s;
  // Rank 1 compiles longer; rank 0 waits for it in the collective and comes out of it last.
  s.as(1, 0).mark(0, HW_MARK_LAUNCHER_START).put(1, event::EventType::step, 0, 1);
  s.span(1, 4, HW_PHASE_COMPILE).step_end(9.002, 1).exit(10);
  s.as(1, 1)
      .put(1, event::EventType::step, 0, 1)
      .span(1, 8, HW_PHASE_COMPILE)
      .step_end(9, 1)
      .exit(10);
  const JobResult job = s.tell();
  EXPECT_EQ(job.ledger.total().sums[Bucket::compile_cold], sec(7));
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(1.002));
  EXPECT_EQ(job.attempts[0].first_trained_ns, sec(8));
}

TEST(Ranks, WhatOneRankDoesWhileTheOthersStandInACollectiveIsCharged) {
  for (const std::uint32_t busy : {0u, 1u}) {  // rank 1 comes out of the collective last
    Story s;
    for (const std::uint32_t r : {0u, 1u}) {
      s.as(1, r).mark(0, HW_MARK_LAUNCHER_START).step(0, 1, 1);
      if (r == busy) s.span(1, 4, HW_PHASE_EVAL).span(4, 5, HW_PHASE_CHECKPOINT_BLOCKED);
      s.step(r == busy ? 5 : 1, r == 0 ? 6 : 6.01, 2).exit(7);
    }
    const Sums sums = s.tell().ledger.total().sums;
    EXPECT_EQ(sums[Bucket::wasted_eval], sec(3));
    EXPECT_EQ(sums[Bucket::wasted_checkpoint_blocked], sec(1));
    EXPECT_EQ(sums[Bucket::effective], sec(2.01));
  }
}

TEST(Ranks, IndependentSmallWaitsOfManyRanksDoNotAddUp) {
  Story s;
  constexpr std::uint32_t kRanks = 100;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    s.as(1, r).mark(0, HW_MARK_LAUNCHER_START).step(0, 1, 1);
    for (int n = 2; n <= 21; ++n) {
      const double t = n - 1;
      const bool waits = (static_cast<std::uint32_t>(n) * 7 + r) % kRanks == 0;
      if (waits) s.span(t, t + 0.2, HW_PHASE_DATA_WAIT);
      s.step(waits ? t + 0.2 : t, t + 1, n);
    }
    s.exit(21);
  }
  const JobResult job = s.tell();
  // Somebody waits in nearly every step, but nobody is held up by more than the critical rank was.
  EXPECT_GE(job.ledger.total().sums[Bucket::effective], sec(20.5));
}

TEST(Ranks, AStepThatNotAllFinishedIsNotFinished) {
  Story s;
  s.as(1, 0).mark(0, HW_MARK_LAUNCHER_START).step(0, 1, 1).step(1, 2, 2);
  s.as(1, 1).step(0, 1, 1).put(1, event::EventType::step, 0, 2);
  s.as(1, event::kAgentRank).fail(2.5, {.signal = 9, .rank = 1}).exit(3, {.signal = 9, .rank = 1});
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].steps, 1u);
  EXPECT_EQ(job.attempts[0].high_water, 1);
  EXPECT_EQ(job.ledger.total().sums[Bucket::wasted_interrupted_step], sec(1.5));
  EXPECT_EQ(job.ledger.total().sums[Bucket::down], sec(0.5));
  EXPECT_EQ(job.attempts[0].failure->info.rank, 1u);
}

TEST(Ranks, ARankWhoseJournalEndsEarlyDoesNotUndoTheOthersWork) {
  Story s;
  s.as(1, 0).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 100).exit(100);
  s.as(1, 1).steps(0, 1, 1, 10);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].steps, 99u);  // all but the last, which only one rank is known to end
  EXPECT_EQ(job.attempts[0].facts.anomalies.partial_steps, 89u);
}

TEST(Ranks, ARankThatNeverTrainsHoldsUpNothing) {
  Story s;
  s.as(1, 0).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 5).exit(5);
  s.as(1, 1).span(0, 4, HW_PHASE_EVAL).exit(5);
  const JobResult job = s.tell();
  EXPECT_EQ(job.attempts[0].steps, 5u);
  EXPECT_EQ(job.ledger.total().sums[Bucket::effective], sec(5));
  EXPECT_EQ(share(job, 1).sums.total(), sec(5));
}

TEST(Ranks, TheOrderOfStreamsAndRanksSaysNothing) {
  Story s;
  for (std::uint32_t r = 0; r < 3; ++r) {
    s.as(1, r).mark(0.1 * r, HW_MARK_LAUNCHER_START).span(0.2, 1 + 0.1 * r, HW_PHASE_IMPORTS);
    for (int n = 1; n <= 20; ++n)
      s.step(n, n + 0.9 + 0.01 * ((r * 7 + static_cast<std::uint32_t>(n)) % 5), n);
    s.exit(30 + r);
  }
  event::JobStreams streams = s.streams();
  const JobResult a = attribute_job(streams, {});
  std::reverse(streams.streams.begin(), streams.streams.end());
  const JobResult b = attribute_job(streams, {});
  EXPECT_EQ(a.ledger.total(), b.ledger.total());
}

}  // namespace
}  // namespace headway::timeline
