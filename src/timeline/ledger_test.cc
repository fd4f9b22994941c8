#include "timeline/ledger.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::timeline {
namespace {

Piece step_piece(std::int64_t t0, std::int64_t wait, std::int64_t train, std::int64_t data) {
  Piece p;
  p.t0_ns = t0;
  p.t1_ns = t0 + wait + train;
  p.sums[Bucket::wasted_data_wait] = wait;
  p.sums[Bucket::effective] = train;
  p.train_ns = train;
  p.steps = 1;
  p.data_end = data;
  return p;
}

void add_step(Ledger& ledger, const Piece& step) {
  ledger.open_step(step.t0_ns).sums += step.sums;
  ledger.close_step(step.t1_ns, step.data_end, step.train_ns);
}

Ledger random_ledger(std::mt19937_64& rng, int steps) {
  Ledger ledger;
  Piece init;
  init.t1_ns = 5'000'000'000;
  init.sums[Bucket::init_imports] = 5'000'000'000;
  ledger.add(init);
  std::int64_t t = init.t1_ns;
  for (int i = 0; i < steps; ++i) {
    const auto wait = static_cast<std::int64_t>(rng() % 3'000'000);
    const auto train = static_cast<std::int64_t>(rng() % 90'000'000);
    add_step(ledger, step_piece(t, wait, train, i + 1));
    t += wait + train;
  }
  ledger.seal();
  return ledger;
}

TEST(Ledger, StaysSmallAndExact) {
  std::mt19937_64 rng(7);
  const Ledger ledger = random_ledger(rng, 300'000);
  EXPECT_LE(ledger.pieces().size(), Ledger::runs_max + 2);
  EXPECT_EQ(ledger.total().steps, 300'000);
  EXPECT_EQ(ledger.total().sums.total(), ledger.end_ns() - ledger.begin_ns());
}

TEST(Ledger, WindowsThatTouchSumToTheWhole) {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u}) {
    std::mt19937_64 rng(seed);
    const Ledger ledger = random_ledger(rng, 5000);
    std::vector<std::int64_t> cuts = {ledger.begin_ns() - 10, ledger.end_ns() + 10};
    for (int i = 0; i < 500; ++i) {
      cuts.push_back(ledger.begin_ns() +
                     static_cast<std::int64_t>(
                         rng() % static_cast<std::uint64_t>(ledger.end_ns() - ledger.begin_ns())));
    }
    std::sort(cuts.begin(), cuts.end());
    Account sum;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Account w = ledger.window(cuts[i], cuts[i + 1]);
      for (const std::int64_t ns : w.sums.ns) ASSERT_GE(ns, 0) << "seed " << seed;
      ASSERT_GE(w.failure_ns, 0);
      sum += w;
    }
    EXPECT_EQ(sum, ledger.total()) << "seed " << seed;
  }
}

TEST(Ledger, AccountIsMonotoneNanosecondByNanosecond) {
  Ledger ledger;
  std::int64_t t = 0;
  for (int i = 0; i < 3; ++i) {
    add_step(ledger, step_piece(t, 333, 4001, i));
    t += 4334;
  }
  ledger.seal();
  Account last;
  for (std::int64_t x = -1; x <= t + 1; ++x) {
    const Account now = ledger.before(x);
    EXPECT_EQ(now.sums.total(), std::clamp<std::int64_t>(x, 0, t));
    for (std::size_t b = 0; b < kBuckets; ++b) ASSERT_GE(now.sums.ns[b], last.sums.ns[b]) << x;
    last = now;
  }
}

TEST(Ledger, RecoveryCountsAllButEffectiveAsFailure) {
  Ledger ledger;
  Piece p;
  p.t1_ns = 100;
  p.sums[Bucket::compile_cold] = 60;
  p.sums[Bucket::effective] = 40;
  p.recovery = true;
  ledger.add(p);
  ledger.seal();
  EXPECT_EQ(ledger.total().failure_ns, 60);
}

TEST(Ledger, TensOfThousandsOfSinglePiecesAreMergedExactly) {
  Ledger ledger;
  for (int i = 0; i < 50'000; ++i) {
    Piece p;
    p.t0_ns = i * 10;
    p.t1_ns = i * 10 + 10;
    p.sums[i % 2 ? Bucket::init_imports : Bucket::init_other] = 10;
    ledger.add(p);
  }
  ledger.seal();
  EXPECT_LE(ledger.pieces().size(), Ledger::pieces_max + 1);
  EXPECT_EQ(ledger.total().sums[Bucket::init_imports], 250'000);
  EXPECT_EQ(ledger.total().sums[Bucket::init_other], 250'000);
}

TEST(Ledger, PositionInsideAFoldedRun) {
  Ledger ledger;
  for (int i = 0; i < 4096; ++i) add_step(ledger, step_piece(i * 1000, 0, 1000, i + 1));
  ledger.seal();
  EXPECT_EQ(ledger.train_ns_up_to(4096), 4096 * 1000);
  EXPECT_NEAR(static_cast<double>(ledger.train_ns_up_to(2000)), 2000.0 * 1000, 9000.0);
}

}  // namespace
}  // namespace headway::timeline
