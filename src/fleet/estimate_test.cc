#include "fleet/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "fleet/poisson.h"
#include "fleet/survival.h"

namespace headway::fleet {
namespace {

TEST(Estimate, QuantilesOfStudent) {
  EXPECT_NEAR(t_quantile(1), 12.7062, 1e-4);
  EXPECT_NEAR(t_quantile(4), 2.7764, 1e-4);
  EXPECT_NEAR(t_quantile(10), 2.2281, 2e-4);
  EXPECT_NEAR(t_quantile(29), 2.0452, 1e-4);
  EXPECT_NEAR(t_quantile(1e9), 1.959964, 1e-6);
  EXPECT_GT(t_quantile(2.5), t_quantile(3));
  EXPECT_LT(t_quantile(2.5), t_quantile(2));
}

TEST(Estimate, RatioByHand) {
  // Jobs (y, x) = (1, 2), (3, 4), (1, 4): 5/10. Without each: 4/8, 2/6, 4/6.
  RatioDoubt ratio(5, 10);
  ratio.add(1, 2);
  ratio.add(3, 4);
  ratio.add(1, 4);
  const double squares = 0 + 1.0 / 36 + 1.0 / 36;
  EXPECT_NEAR(*ratio.standard_error(), std::sqrt(2.0 / 3 * squares), 1e-12);
  const Doubt doubt = ratio.doubt();
  EXPECT_DOUBLE_EQ(*doubt.value, 0.5);
  EXPECT_GT(*doubt.low, 0);
  EXPECT_NEAR(*doubt.low + *doubt.high, 1, 1e-12);
}

TEST(Estimate, SaysNothingOfOneJob) {
  RatioDoubt one(1, 2);
  one.add(1, 2);
  EXPECT_EQ(one.doubt().value, 0.5);
  EXPECT_FALSE(one.doubt().low);
  EXPECT_FALSE(RatioDoubt(0, 0).doubt().value);
  EXPECT_FALSE(MeanShareDoubt().doubt().value);
}

TEST(Estimate, NoneSeenIsNotCertainty) {
  RatioDoubt none(0, 30);
  for (int i = 0; i < 30; ++i) none.add(0, 1);
  EXPECT_EQ(none.doubt().low, 0);
  EXPECT_NEAR(*none.doubt().high, 1 - std::pow(0.025, 1.0 / 30), 1e-12);
  MeanShareDoubt all;
  for (int i = 0; i < 30; ++i) all.add(1);
  EXPECT_EQ(all.doubt().high, 1);
  EXPECT_NEAR(*all.doubt().low, std::pow(0.025, 1.0 / 30), 1e-12);
}

// How often the interval holds the truth, for jobs whose sizes differ by orders of magnitude and
// whose attempts are alike. `weighted`: by size, else by job.
double coverage(int jobs, bool weighted, std::uint64_t seed) {
  constexpr int rounds = 2000;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto share_of = [&](double x) {  // larger jobs do better, so that size matters
    return 1 / (1 + std::exp(-(1.5 + 0.3 * std::log(x) + 0.8 * normal(random))));
  };
  double truth_y = 0, truth_x = 0, truth_mean = 0;
  constexpr int many = 2'000'000;
  for (int i = 0; i < many; ++i) {
    const double x = std::exp(1.2 * normal(random));
    const double share = share_of(x);
    truth_y += share * x;
    truth_x += x;
    truth_mean += share / many;
  }
  const double truth = weighted ? truth_y / truth_x : truth_mean;
  int held = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::pair<double, double>> drawn;
    double y = 0, x = 0;
    MeanShareDoubt mean;
    for (int i = 0; i < jobs; ++i) {
      const double size = std::exp(1.2 * normal(random));
      const double share = share_of(size);
      drawn.emplace_back(share * size, size);
      y += share * size;
      x += size;
      mean.add(share);
    }
    RatioDoubt ratio(y, x);
    for (const auto& [part, whole] : drawn) ratio.add(part, whole);
    const Doubt doubt = weighted ? ratio.doubt() : mean.doubt();
    held += *doubt.low <= truth && truth <= *doubt.high ? 1 : 0;
  }
  return static_cast<double>(held) / rounds;
}

TEST(Estimate, IntervalsOfSharesHoldTheTruth) {
  constexpr std::uint64_t seed = 2026;
  for (const int jobs : {8, 30, 200}) {
    const double weighted = coverage(jobs, true, seed + jobs);
    const double by_job = coverage(jobs, false, seed + jobs);
    std::printf("seed %lu: %d jobs: weighted %.3f, by job %.3f\n", seed, jobs, weighted, by_job);
    EXPECT_GE(weighted, 0.92) << jobs;
    EXPECT_LE(weighted, 0.99) << jobs;
    EXPECT_GE(by_job, 0.925) << jobs;
    EXPECT_LE(by_job, 0.98) << jobs;
  }
}

TEST(Poisson, Tails) {
  EXPECT_DOUBLE_EQ(poisson_at_least(0, 3), 1);
  EXPECT_NEAR(poisson_at_least(1, 0.5), 1 - std::exp(-0.5), 1e-14);
  EXPECT_NEAR(poisson_at_least(5, 2), 0.052653017, 1e-9);
  EXPECT_NEAR(poisson_at_most(5, 2), 0.983436392, 1e-9);
  EXPECT_NEAR(poisson_at_most(1000, 1000), 0.508409367, 1e-8);
  EXPECT_DOUBLE_EQ(poisson_at_least(3, 0), 0);
  EXPECT_DOUBLE_EQ(poisson_at_most(3, 0), 1);
  EXPECT_GT(poisson_at_least(400, 100), 0);  // tiny, and still a number
  EXPECT_LT(poisson_at_least(400, 100), 1e-90);
}

TEST(Poisson, GarwoodsTable) {
  EXPECT_DOUBLE_EQ(garwood(0).low, 0);
  EXPECT_NEAR(garwood(0).high, 3.688879, 1e-6);
  EXPECT_NEAR(garwood(1).low, 0.025318, 1e-6);
  EXPECT_NEAR(garwood(1).high, 5.571643, 1e-6);
  EXPECT_NEAR(garwood(10).low, 4.795389, 1e-6);
  EXPECT_NEAR(garwood(10).high, 18.390356, 1e-6);
  EXPECT_NEAR(garwood(1000).low, 938.9730, 1e-3);
  EXPECT_NEAR(garwood(1000).high, 1063.9521, 1e-3);
  // No step where the shortcut for many begins.
  EXPECT_NEAR(garwood(100'000).high, garwood(100'001).high, 2);
  for (const std::uint64_t n : {1, 7, 300, 20'000}) {
    EXPECT_NEAR(poisson_at_least(n, garwood(n).low), 0.025, 1e-8);
    EXPECT_NEAR(poisson_at_most(n, garwood(n).high), 0.025, 1e-8);
  }
  EXPECT_FALSE(poisson_rate(3, 0).value);
}

Lasted lasted(std::int64_t seconds, std::uint32_t job, bool over = true) {
  return {seconds * 1'000'000'000, job, over};
}

TEST(Survival, WithoutOpenOnesIsThePlainMean) {
  SurvivalEstimator estimator;
  EXPECT_FALSE(estimator.durations({}));
  const std::vector<Lasted> all = {lasted(10, 1), lasted(40, 2), lasted(20, 3), lasted(30, 4)};
  const auto durations = *estimator.durations(all);
  EXPECT_EQ(durations.count, 4u);
  EXPECT_EQ(durations.open, 0u);
  EXPECT_NEAR(*durations.mean_s.value, 25, 1e-9);
  EXPECT_EQ(durations.p50_s, 20);
  EXPECT_EQ(durations.p90_s, 40);
  // The standard error of a mean of four, in the logarithm.
  const double error = std::sqrt((225 + 225 + 25 + 25) / 3.0 / 4);
  EXPECT_NEAR(std::log(*durations.mean_s.high / 25), t_quantile(3) * error / 25, 1e-9);
}

TEST(Survival, KaplanAndMeierByHand) {
  // 10, 20+, 30, 40+: ¾ after 10, ¾·½ = ⅜ after 30, which 40 is the end of.
  const std::vector<Lasted> all = {lasted(10, 1), lasted(20, 2, false), lasted(30, 3),
                                   lasted(40, 4, false)};
  SurvivalEstimator estimator;
  const auto durations = *estimator.durations(all);
  EXPECT_EQ(durations.count, 2u);
  EXPECT_EQ(durations.open, 2u);
  EXPECT_NEAR(*durations.mean_s.value, 10 + 20 * 0.75 + 10 * 0.375, 1e-9);
  EXPECT_EQ(durations.p50_s, 30);
  EXPECT_FALSE(durations.p90_s);
  const std::vector<double> weights = estimator.weights(all);
  double sum = 0, mean = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += weights[i];
    mean += weights[i] * static_cast<double>(all[i].ns) * 1e-9;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(mean, *durations.mean_s.value, 1e-9);
  EXPECT_EQ(weights[1], 0);
}

TEST(Survival, NothingIsOver) {
  SurvivalEstimator estimator;
  const std::vector<Lasted> all = {lasted(10, 1, false)};
  const auto durations = *estimator.durations(all);
  EXPECT_EQ(durations.count, 0u);
  EXPECT_FALSE(durations.mean_s.value);
  EXPECT_FALSE(durations.p50_s);
}

TEST(Survival, AgreesWithTheDefinition) {
  std::mt19937_64 random(3);
  std::vector<Lasted> all;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    all.push_back(
        {static_cast<std::int64_t>(random() >> (random() % 40 + 8)), i / 3, random() % 5 != 0});
  }
  SurvivalEstimator estimator;
  const auto many = *estimator.durations(all);
  std::vector<Lasted> sorted = all;
  std::ranges::sort(sorted, {}, &Lasted::ns);
  // By the definition.
  double left = 1, area = 0, from = 0;
  std::optional<double> median;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double ns = static_cast<double>(sorted[i].ns);
    area += left * (ns - from);
    from = ns;
    if (sorted[i].over) left *= 1 - 1 / static_cast<double>(sorted.size() - i);
    if (!median && left <= 0.5) median = ns * 1e-9;
  }
  EXPECT_NEAR(*many.mean_s.value, area * 1e-9, area * 1e-18);
  EXPECT_NEAR(*many.p50_s, *median, *median * 1e-12);
}

// Starts of a few jobs each, a part of them cut off by now: the truth is held as often as said, and
// the mean of those that are over alone would be too small.
TEST(Survival, OpenStartsDoNotBiasAndTheIntervalHolds) {
  constexpr std::uint64_t seed = 77;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  constexpr int rounds = 1500, jobs = 80;
  const double truth = 100 * std::exp((0.3 * 0.3 + 0.4 * 0.4) / 2);
  int held = 0;
  double mean = 0, naive = 0;
  SurvivalEstimator estimator;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Lasted> all;
    double sum = 0, count = 0;
    for (std::uint32_t job = 0; job < jobs; ++job) {
      const double own = std::exp(0.3 * normal(random));
      for (std::uint64_t i = 0; i < 1 + random() % 5; ++i) {
        const double length = 100 * own * std::exp(0.4 * normal(random));
        const double now = uniform(random) < 0.3 ? 400 * uniform(random) : 1e9;
        all.push_back({static_cast<std::int64_t>(std::min(length, now) * 1e9), job, length <= now});
        if (length <= now) {
          sum += length;
          ++count;
        }
      }
    }
    const Doubt doubt = estimator.durations(all)->mean_s;
    held += *doubt.low <= truth && truth <= *doubt.high ? 1 : 0;
    mean += *doubt.value / rounds;
    naive += sum / count / rounds;
  }
  const double covered = static_cast<double>(held) / rounds;
  std::printf("seed %lu: truth %.2f, mean %.2f, of those that are over %.2f; held %.3f\n", seed,
              truth, mean, naive, covered);
  EXPECT_NEAR(mean, truth, 1.0);
  EXPECT_LT(naive, truth - 2);
  EXPECT_GE(covered, 0.93);
  EXPECT_LE(covered, 0.975);
}

}  // namespace
}  // namespace headway::fleet
