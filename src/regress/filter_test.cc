#include "regress/filter.h"

#include <gtest/gtest.h>

#include "regress/test_series.h"

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using fleet::Dimension;
using timeline::Bucket;

std::vector<double> steps(double before, double after) {
  std::vector<double> out(40, before);
  for (std::size_t i = 30; i < 40; ++i) out[i] = after;
  return out;
}

struct Stratum2 {
  std::vector<Series> series;
  std::vector<Watched> watched;

  void add(Component component, const std::vector<double>& seconds) {
    series.push_back(lengths(seconds));
    series.back().component = std::move(component);
  }
  void look() {
    for (const Series& each : series) watched.push_back({&each, Evidence(each, {})});
  }
  [[nodiscard]] Change change() const {
    return *change_near(watched[0].evidence, test_first_day + 30, 0, {});
  }
};

// 100 observations a day that take 10 s more each.
TEST(Cost, OfARiseAndOfAFall) {
  const Series rise = lengths(steps(100, 110)), fall = lengths(steps(110, 100));
  const Evidence up(rise, {}), down(fall, {});
  EXPECT_NEAR(cost_per_day(rise, *change_near(up, test_first_day + 30, 0, {})), 1000, 1e-6);
  EXPECT_NEAR(cost_per_day(fall, *change_near(down, test_first_day + 30, 0, {})), -1000, 1e-6);
}

TEST(Moved, FromOnePhaseToAnother) {
  Stratum2 stratum;
  stratum.add({Kind::start, Bucket::compile_cold, {}}, steps(100, 110));
  stratum.add({Kind::start, Bucket::init_pre_train, {}}, steps(60, 50));
  stratum.add({Kind::start, Bucket::init_imports, {}}, steps(30, 30));
  stratum.look();
  const Moved found = moved(stratum.watched, 0, stratum.change());
  EXPECT_NEAR(found.rose, 1000, 1e-6);
  EXPECT_NEAR(found.fell, 1000, 1e-6);
  EXPECT_TRUE(found.only_moved());
}

TEST(Moved, AHalfThatWasSavedDoesNotExcuseTheRest) {
  Stratum2 stratum;
  stratum.add({Kind::start, Bucket::compile_cold, {}}, steps(100, 110));
  stratum.add({Kind::start, Bucket::init_pre_train, {}}, steps(60, 55));
  stratum.look();
  EXPECT_FALSE(moved(stratum.watched, 0, stratum.change()).only_moved());
}

// Another rise on the same day that is not paid for by the same saving.
TEST(Moved, ASavingCountsOnce) {
  Stratum2 stratum;
  stratum.add({Kind::start, Bucket::compile_cold, {}}, steps(100, 110));
  stratum.add({Kind::start, Bucket::init_restore, {}}, steps(100, 110));
  stratum.add({Kind::start, Bucket::init_pre_train, {}}, steps(60, 50));
  stratum.look();
  EXPECT_FALSE(moved(stratum.watched, 0, stratum.change()).only_moved());
}

TEST(Preemptions, AWaveExplainsRecoveriesButNoStart) {
  for (const Kind kind : {Kind::recover, Kind::start}) {
    Stratum2 stratum;
    stratum.add({kind, Bucket::wasted_replay, {}}, steps(100, 110));
    Series waves;
    waves.component = {Kind::failures, Bucket::scheduling, std::string(preemption_category)};
    for (std::int32_t i = 0; i < 40; ++i) {
      waves.cells.push_back({test_first_day + i, 1000, i < 30 ? 2.0 : 10.0, 0});
    }
    stratum.series.push_back(waves);
    stratum.look();
    EXPECT_EQ(with_preemptions(stratum.watched, 0, stratum.change()), kind == Kind::recover);
  }
}

struct Samples {
  std::vector<AttemptFacts> facts;
  std::vector<Sample> before, after;

  void add(bool is_after, std::size_t count, const std::string& cluster, double level) {
    for (std::size_t i = 0; i < count; ++i) {
      (is_after ? after : before).push_back({facts.size(), 0, level, 1, 1});
      facts.emplace_back().dimensions[static_cast<std::size_t>(Dimension::cluster)] = cluster;
    }
  }
  [[nodiscard]] std::optional<Dimension> explained(std::vector<Dimension> by = {}) const {
    return explained_by_mix(facts, before, after, by);
  }
};

TEST(Mix, OtherJobsAtTheSameRates) {
  Samples samples;
  samples.add(false, 80, "east", 1);
  samples.add(false, 20, "west", 2);
  samples.add(true, 20, "east", 1);
  samples.add(true, 80, "west", 2);
  EXPECT_NEAR(mix_share(samples.facts, samples.before, samples.after, Dimension::cluster), 1, 1e-9);
  EXPECT_EQ(samples.explained(), Dimension::cluster);
  EXPECT_FALSE(samples.explained({Dimension::cluster}));  // it is the stratum's already
}

TEST(Mix, TheSameJobsAtOtherRates) {
  Samples samples;
  samples.add(false, 80, "east", 1);
  samples.add(false, 20, "west", 2);
  samples.add(true, 80, "east", 1.5);
  samples.add(true, 20, "west", 2.5);
  EXPECT_NEAR(mix_share(samples.facts, samples.before, samples.after, Dimension::cluster), 0, 1e-9);
  EXPECT_FALSE(samples.explained());
}

TEST(Mix, AClusterThatCameIsMix) {
  Samples samples;
  samples.add(false, 100, "east", 1);
  samples.add(true, 50, "east", 1);
  samples.add(true, 50, "new", 3);
  EXPECT_NEAR(mix_share(samples.facts, samples.before, samples.after, Dimension::cluster), 1, 1e-9);
}

}  // namespace
}  // namespace headway::regress
