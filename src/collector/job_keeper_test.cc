// A job that is read from the store and goes on from there.
#include "collector/job_keeper.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/temp_dir.h"
#include "collector/test_job.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

using nlohmann::json;

struct Kept {
  ingest::Batch batch;
  std::vector<event::Record> slots;
  store::Appended appended;
};

// A journal of this length is opened twice by a reread: to look at its beginning, and to read it.
TEST(JobKeeper, GoesOnWhereTheStoreEnds) {
  constexpr int steps = 4000;
  TestJob job("train");
  job.attempt(1, 2, steps, false);
  const base::TempDir dir;
  auto store = store::open_sqlite({dir.path() + "/store.db"});
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::mt19937 random(3);
  std::vector<std::pair<std::string, std::vector<std::byte>>> posts;
  job.post_in_any_order(random, [&](const std::string& path, const std::vector<std::byte>& body) {
    posts.emplace_back(path, body);
  });
  std::vector<Kept> kept(posts.size());
  const auto keep = [&](std::size_t from, std::size_t to) {  // in one commit
    std::vector<store::Append> appends;
    for (std::size_t i = from; i < to; ++i) {
      kept[i].batch = ingest::Batch::parse(posts[i].second, "batch").value();
      const auto& packed = kept[i].batch.packed;
      EXPECT_TRUE(
          ingest::unpack_slots(packed, kept[i].batch.header.slots, kept[i].slots, "batch").ok());
      appends.push_back({"default", "train", 1, &kept[i].batch, posts[i].second, 1});
    }
    const auto appended = (*store)->append(appends).value();
    for (std::size_t i = from; i < to; ++i) kept[i].appended = appended[i - from];
  };
  const std::size_t before = posts.size() * 3 / 4;
  keep(0, before);
  const store::JobRow row{kept[0].appended.job, "default", "train", 1, 1, 0};

  JobKeeper keeper(**store, row, false);
  ASSERT_TRUE(keeper.reread().ok());
  EXPECT_FALSE(keeper.must_reread());
  keep(before, posts.size());
  for (std::size_t i = before; i < posts.size(); ++i) {
    const store::Appended& appended = kept[i].appended;
    if (appended.judgement.verdict != ingest::Verdict::news) continue;  // nothing was in it
    ASSERT_TRUE(keeper.took(kept[i].batch, kept[i].slots, appended.before_seq, appended.seq));
    ASSERT_FALSE(keeper.must_reread()) << "batch " << i << " of " << posts.size();
  }
  EXPECT_TRUE(keeper.is_final());
  metrics::Report report = metrics::make_report(keeper.snapshot(std::nullopt), keeper.names());
  report.state = "finished";
  failure::redact(report);
  EXPECT_EQ(json::diff(json::parse(job.report()), json::parse(metrics::to_json(report))).dump(1),
            "[]");
}

}  // namespace
}  // namespace headway::collector
