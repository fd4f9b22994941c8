#include "regress/merge.h"

#include <gtest/gtest.h>

namespace headway::regress {
namespace {

using timeline::Bucket;
using Groups = std::vector<std::vector<std::size_t>>;

Mergeable item(Bucket bucket, std::size_t stratum, std::int32_t day, const std::string& cause = "",
               const std::string& key = "") {
  return {{Kind::start, bucket, {}}, stratum, day, day - 1, day + 1, cause, key};
}

TEST(Merge, OneComponentInSeveralStrata) {
  const std::vector<Mergeable> items = {item(Bucket::compile_cold, 0, 100),
                                        item(Bucket::compile_cold, 1, 101),
                                        item(Bucket::init_restore, 2, 100)};
  EXPECT_EQ(merge(items, 3), (Groups{{0, 1}, {2}}));
}

TEST(Merge, OneCauseInOneStratum) {
  const std::vector<Mergeable> items = {item(Bucket::compile_cold, 0, 100, "torch=2.9"),
                                        item(Bucket::init_restore, 0, 101, "torch=2.9"),
                                        item(Bucket::init_imports, 0, 100, "cluster=west"),
                                        item(Bucket::init_device, 0, 100)};
  EXPECT_EQ(merge(items, 3), (Groups{{0, 1}, {2}, {3}}));
}

TEST(Merge, AWeekApartIsAnother) {
  const std::vector<Mergeable> items = {item(Bucket::compile_cold, 0, 100),
                                        item(Bucket::compile_cold, 0, 107)};
  EXPECT_EQ(merge(items, 3).size(), 2u);
}

TEST(Merge, DaysApartOnlyAsFarAsTheyAreInDoubt) {
  std::vector<Mergeable> items = {item(Bucket::compile_cold, 0, 100),
                                  item(Bucket::compile_cold, 1, 103)};
  EXPECT_EQ(merge(items, 3).size(), 2u);  // 99 … 101 and 102 … 104
  items[0].high_day = 102;
  EXPECT_EQ(merge(items, 3).size(), 1u);
}

TEST(Merge, KnownOnesStayApartAndDrawNewcomers) {
  const std::vector<Mergeable> items = {item(Bucket::compile_cold, 0, 100, "", "one"),
                                        item(Bucket::compile_cold, 1, 100, "", "two"),
                                        item(Bucket::compile_cold, 2, 100)};
  EXPECT_EQ(merge(items, 3), (Groups{{0, 2}, {1}}));
  const std::vector<Mergeable> far = {item(Bucket::compile_cold, 0, 100, "", "one"),
                                      item(Bucket::init_restore, 1, 120, "", "one")};
  EXPECT_EQ(merge(far, 3).size(), 1u);
}

TEST(Merge, FailuresByCategory) {
  std::vector<Mergeable> items(3, item(Bucket::scheduling, 0, 100));
  for (std::size_t i = 0; i < 3; ++i) {
    items[i].stratum = i;
    items[i].component = {Kind::failures, Bucket::scheduling, i < 2 ? "gpu_oom" : "host_lost"};
  }
  EXPECT_EQ(merge(items, 3), (Groups{{0, 1}, {2}}));
  items[2] = item(Bucket::scheduling, 5, 100);  // a start's scheduling is no failure
  EXPECT_EQ(merge(items, 3).size(), 2u);
}

}  // namespace
}  // namespace headway::regress
