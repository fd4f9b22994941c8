#include "regress/dip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using timeline::Bucket;

constexpr std::int64_t kHourNs = 3'600'000'000'000;

AttemptFacts attempt(const std::string& family, std::int32_t day, double effective_h,
                     double compile_h) {
  AttemptFacts out;
  out.dimensions[static_cast<std::size_t>(fleet::Dimension::family)] = family;
  fleet::Slice slice;
  slice.day = day;
  slice.sums[Bucket::effective] = static_cast<std::int64_t>(effective_h * kHourNs);
  slice.sums[Bucket::compile_cold] = static_cast<std::int64_t>(compile_h * kHourNs);
  out.slices.push_back(slice);
  return out;
}

std::optional<Dip> dip(const std::vector<AttemptFacts>& facts) {
  std::vector<std::size_t> all(facts.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return decompose_dip(facts, {all, 0, 9}, {all, 10, 19});
}

double term(const Dip& dip, const std::string& name) {
  for (const DipTerm& each : dip.terms) {
    if (each.name == name) return each.delta_pct;
  }
  return 0;
}

double sum(const Dip& dip) {
  double out = 0;
  for (const DipTerm& each : dip.terms) out += each.delta_pct;
  return out;
}

// Both families keep their rates; the fleet runs more of the worse one.
TEST(Dip, AMixShiftIsAllMix) {
  const auto found = dip({attempt("good", 1, 90, 10), attempt("bad", 1, 5, 5),
                          attempt("good", 11, 45, 5), attempt("bad", 11, 25, 25)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->before_pct, 100 * 95.0 / 110, 1e-6);
  EXPECT_NEAR(found->after_pct, 70, 1e-6);
  EXPECT_NEAR(term(*found, "mix"), found->delta_pct, 1e-9);
  EXPECT_NEAR(term(*found, "compile_cold"), 0, 1e-9);
}

// Simpson: each family got better, and the fleet as a whole worse.
TEST(Dip, EachBetterAllWorse) {
  const auto found = dip({attempt("good", 1, 90, 10), attempt("bad", 1, 5, 5),
                          attempt("good", 11, 46, 4), attempt("bad", 11, 26, 24)});
  ASSERT_TRUE(found);
  EXPECT_LT(found->delta_pct, 0);
  EXPECT_GT(term(*found, "compile_cold"), 0);
  EXPECT_LT(term(*found, "mix"), found->delta_pct);
  EXPECT_NEAR(sum(*found), found->delta_pct, 1e-9);
}

TEST(Dip, AStageThatGrewIsTheStages) {
  const auto found = dip({attempt("a", 1, 90, 10), attempt("a", 11, 80, 20)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->delta_pct, -10, 1e-9);
  EXPECT_NEAR(term(*found, "compile_cold"), -10, 1e-9);
  EXPECT_EQ(found->terms.size(), 1u);
}

TEST(Dip, FamiliesThatComeAndGoStandByThemselves) {
  const auto found = dip({attempt("a", 1, 80, 20), attempt("old", 1, 50, 50),
                          attempt("a", 11, 80, 20), attempt("new", 11, 90, 10)});
  ASSERT_TRUE(found);
  // R = (65 + 85) / 2 = 75: half of the fleet at 90 came (+7.5), half at 50 went (+12.5).
  EXPECT_NEAR(term(*found, "appeared"), 7.5, 1e-9);
  EXPECT_NEAR(term(*found, "vanished"), 12.5, 1e-9);
  EXPECT_NEAR(found->delta_pct, 20, 1e-9);
}

// 10 of 100 hours went to a preemption, then 30 to preemptions and failures 2:1.
TEST(Dip, FailureTimeGoesToWhatItWasLostTo) {
  std::vector<AttemptFacts> facts = {attempt("a", 1, 90, 0), attempt("a", 11, 70, 0),
                                     attempt("a", 11, 0, 0)};
  facts[0].slices[0].sums[Bucket::down] = 10 * kHourNs;
  facts[0].slices[0].failure_ns = 10 * kHourNs;
  facts[1].slices[0].sums[Bucket::init_restore] = 30 * kHourNs;
  facts[1].slices[0].failure_ns = 30 * kHourNs;
  facts[2].slices[0].day = 11;
  const auto fail = [](AttemptFacts& of, fleet::Origin origin, const char* category, int hours) {
    of.failure.emplace();
    of.failure->t_ns = of.slices[0].day * fleet::kDayNs;
    of.failure->origin = origin;
    of.failure->category = category;
    of.failure->lost_ns = hours * kHourNs;
  };
  fail(facts[0], fleet::Origin::preemption, "evicted", 7);
  fail(facts[1], fleet::Origin::preemption, "evicted", 20);
  fail(facts[2], fleet::Origin::infra, "nccl_timeout", 10);
  const auto found = dip(facts);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->delta_pct, -20, 1e-9);
  EXPECT_NEAR(term(*found, "preemption"), -10, 1e-9);
  EXPECT_NEAR(term(*found, "nccl_timeout"), -10, 1e-9);
  EXPECT_EQ(term(*found, "restore"), 0);
}

TEST(Dip, NoTimeNoDip) {
  EXPECT_FALSE(dip({attempt("a", 1, 90, 10)}));
  EXPECT_FALSE(dip({}));
}

// Whatever the facts are, nonsense included.
TEST(Dip, TermsSumToTheDipForAnyFacts) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<AttemptFacts> facts(1 + random() % 60);
    for (AttemptFacts& each : facts) {
      for (std::string& text : each.dimensions)
        text = std::string(1, static_cast<char>('a' + random() % 3));
      each.devices = static_cast<std::uint32_t>(1 + random() % 1000);
      for (std::size_t i = random() % 4; i > 0; --i) {
        fleet::Slice& slice = each.slices.emplace_back();
        slice.day = static_cast<std::int32_t>(random() % 20);
        for (std::int64_t& ns : slice.sums.ns) {
          if (random() % 2 == 0) ns = static_cast<std::int64_t>(random() % (24 * kHourNs));
        }
        slice.failure_ns = static_cast<std::int64_t>(random() % (30 * kHourNs));
      }
      if (random() % 2 == 0) {
        each.failure.emplace();
        each.failure->t_ns = static_cast<std::int64_t>(random() % (20 * fleet::kDayNs));
        each.failure->origin = static_cast<fleet::Origin>(1 + random() % 4);
        each.failure->category = std::string(1, static_cast<char>('p' + random() % 3));
        each.failure->lost_ns = static_cast<std::int64_t>(random() % kHourNs) - 1000;
      }
    }
    const auto found = dip(facts);
    if (!found) continue;
    EXPECT_NEAR(sum(*found), found->delta_pct, 1e-10) << "seed " << seed;
    EXPECT_NEAR(found->after_pct - found->before_pct, found->delta_pct, 1e-12) << "seed " << seed;
  }
}

}  // namespace
}  // namespace headway::regress
