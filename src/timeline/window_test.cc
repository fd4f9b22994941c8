// Windows that cut inside a step: what was done when.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "timeline/test_stream.h"

namespace headway::timeline {
namespace {

using test::sec;
using test::Story;

std::int64_t in(const JobResult& job, double from, double to, Bucket bucket) {
  return job.ledger.window(sec(from), sec(to)).sums[bucket];
}

// All of [from, to) is this bucket, to the nanosecond.
void expect_only(const JobResult& job, double from, double to, Bucket bucket) {
  const Sums sums = job.ledger.window(sec(from), sec(to)).sums;
  EXPECT_EQ(sums[bucket], sec(to) - sec(from)) << from << ".." << to;
  EXPECT_EQ(sums.total(), sec(to) - sec(from)) << from << ".." << to;
}

TEST(Window, AnEvaluationBetweenStepsLiesBeforeTheTrainingOfTheNext) {
  Story s;
  s.step(0, 1, 1).span(1, 2, HW_PHASE_EVAL).step(2, 3, 2);
  const JobResult job = s.tell();
  expect_only(job, 0, 1, Bucket::effective);
  expect_only(job, 1, 2, Bucket::wasted_eval);
  expect_only(job, 2, 3, Bucket::effective);
  EXPECT_EQ(in(job, 1.25, 2.5, Bucket::wasted_eval), sec(0.75));
  EXPECT_EQ(in(job, 1.25, 2.5, Bucket::effective), sec(0.5));
}

TEST(Window, ASaveBetweenStepsLiesBeforeTheTrainingOfTheNext) {
  Story s;
  s.step(0, 1, 1).span(1, 2, HW_PHASE_CHECKPOINT_BLOCKED).step(2, 3, 2);
  const JobResult job = s.tell();
  expect_only(job, 1, 2, Bucket::wasted_checkpoint_blocked);
  expect_only(job, 2, 3, Bucket::effective);
}

// As docs/python.md shows it: with hw.steps the body of the loop is the step, its save included.
TEST(Window, ASaveAtTheEndOfAStepLiesAfterItsTraining) {
  Story s;
  s.step(0, 1, 1).span(1, 1.5, HW_PHASE_DATA_WAIT);
  s.put(1.5, event::EventType::step, 0, 2, HW_NO_DATA);
  s.span(3, 4, HW_PHASE_CHECKPOINT_BLOCKED).step_end(4, 2);
  const JobResult job = s.tell();
  expect_only(job, 1, 1.5, Bucket::wasted_data_wait);
  expect_only(job, 1.5, 3, Bucket::effective);
  expect_only(job, 3, 4, Bucket::wasted_checkpoint_blocked);
}

TEST(Window, AReplayedStepIsCutLikeANewOne) {
  Story s;
  s.as(1).mark(0, HW_MARK_LAUNCHER_START).steps(0, 1, 1, 3).fail(3).exit(3, {.signal = 9});
  s.as(2).mark(3, HW_MARK_LAUNCHER_START).restore(3, 0).step(3, 4, 1);
  s.span(4, 5, HW_PHASE_EVAL).step(5, 6, 2).exit(6);
  const JobResult job = s.tell();
  expect_only(job, 4, 5, Bucket::wasted_eval);
  expect_only(job, 5, 6, Bucket::wasted_replay);
}

// More than a piece remembers, and still every bucket grows with time and ends at the whole.
TEST(Window, AStepOfManyStretchesIsLaidWaitsFirst) {
  Story s;
  s.step(0, 1, 1).put(1, event::EventType::step, 0, 2, HW_NO_DATA);
  for (int i = 0; i < 20; ++i) s.span(1 + i, 1.25 + i, HW_PHASE_EVAL);
  s.step_end(21, 2);
  const JobResult job = s.tell();
  expect_only(job, 1, 6, Bucket::wasted_eval);  // 20 × 0.25
  expect_only(job, 6, 21, Bucket::effective);
  Sums last;
  for (double t = 0; t <= 21; t += 0.125) {
    const Sums now = job.ledger.before(sec(t)).sums;
    EXPECT_EQ(now.total(), sec(t));
    for (std::size_t b = 0; b < kBuckets; ++b) ASSERT_GE(now.ns[b], last.ns[b]) << t;
    last = now;
  }
}

// A job so long that steps are folded two by two: what fits is still known in its order.
TEST(Window, FoldedStepsKeepTheirOrderWhileItIsShort) {
  const auto steps = static_cast<std::int64_t>(Ledger::runs_max) + 10;
  Story s;
  s.steps(0, 1, 1, 100).span(100, 101, HW_PHASE_EVAL).steps(101, 1, 101, steps - 100);
  const JobResult job = s.tell();
  const auto& pieces = job.ledger.pieces();
  ASSERT_TRUE(std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) {
    return p.steps > 1 && p.sums[Bucket::wasted_eval] > 0;
  }));
  expect_only(job, 100, 101, Bucket::wasted_eval);
}

// A loop with waits, evaluations and saves before and after the training of its steps, and the
// bucket of every stretch of it.
struct Walk {
  Story story;
  std::vector<std::pair<std::int64_t, Bucket>> until;  // ends of stretches, in order

  explicit Walk(std::mt19937_64& rng) {
    std::int64_t t = 0;
    const auto go = [&](Bucket bucket) {
      t += 1 + static_cast<std::int64_t>(rng() % 2'000'000'000);
      until.emplace_back(t, bucket);
    };
    const auto maybe = [&](event::PhaseId phase, Bucket bucket) {
      if (rng() % 3 != 0) return;
      story.put_ns(t, event::EventType::begin, phase);
      go(bucket);
      story.put_ns(t, event::EventType::end, phase);
      if (rng() % 2) go(Bucket::effective);
    };
    const auto count = static_cast<std::int64_t>(1 + rng() % 100);
    for (std::int64_t n = 1; n <= count; ++n) {
      if (n > 1) maybe(HW_PHASE_EVAL, Bucket::wasted_eval);
      if (n > 1) maybe(HW_PHASE_DATA_WAIT, Bucket::wasted_data_wait);
      story.put_ns(t, event::EventType::step, 0, n, HW_NO_DATA);
      go(Bucket::effective);
      maybe(HW_PHASE_CHECKPOINT_BLOCKED, Bucket::wasted_checkpoint_blocked);
      story.put_ns(t, event::EventType::step_end, 0, n, HW_NO_DATA);
    }
  }
  [[nodiscard]] Sums window(std::int64_t from, std::int64_t to) const {
    Sums out;
    std::int64_t at = 0;
    for (const auto& [end, bucket] : until) {
      out[bucket] += std::max<std::int64_t>(0, std::min(end, to) - std::max(at, from));
      at = end;
    }
    return out;
  }
};

TEST(Window, AgreesWithAWalkOverTheJob) {
  const char* only = std::getenv("HEADWAY_SEED");
  const std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t last = only ? first : 200;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("replay with HEADWAY_SEED=" + std::to_string(seed) + " timeline_test");
    std::mt19937_64 rng(seed);
    const Walk walk(rng);
    const JobResult job = walk.story.tell();
    const auto length = static_cast<std::uint64_t>(walk.until.back().first) + 1;
    for (int i = 0; i < 50; ++i) {
      auto from = static_cast<std::int64_t>(rng() % length);
      auto to = static_cast<std::int64_t>(rng() % length);
      if (from > to) std::swap(from, to);
      ASSERT_EQ(job.ledger.window(from, to).sums, walk.window(from, to)) << from << ".." << to;
    }
  }
}

}  // namespace
}  // namespace headway::timeline
