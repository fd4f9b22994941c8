// The uploader against an object store in memory: real folders, real threads.
#include "replica/uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/temp_dir.h"
#include "checkpoint/anchor.h"
#include "checkpoint/remote_archive.h"
#include "object_store/sim_store.h"

namespace headway::replica {
namespace {

using checkpoint::CheckpointName;
using checkpoint::set_anchor;
using object_store::SimStore;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class UploaderTest : public testing::Test {
 protected:
  void start(std::uint32_t keep = 0) {
    UploaderOptions options;
    options.open = [this](const std::string&, const std::atomic<bool>&) {
      object_store::StoreOptions store;
      store.connections = 1;
      store.retry.tries = 1;
      return base::Result<std::unique_ptr<checkpoint::Archive>>(
          std::make_unique<checkpoint::RemoteArchive>(
              object_store::RealStore{
                  nullptr, std::make_unique<object_store::Store>(
                               sim_, object_store::test_settings(), SimStore::bucket, store,
                               object_store::test_runtime())},
              "ck"));
    };
    options.uploaded = [this](const CheckpointName& name, const std::string& place,
                              std::uint32_t skipped) {
      const std::lock_guard lock(mutex_);
      uploaded_.push_back(name.step);
      places_.push_back(place);
      skipped_ += skipped;
    };
    options.troubled = [this](const std::string& problem) {
      const std::lock_guard lock(mutex_);
      problems_.push_back(problem);
    };
    options.rested = [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    };
    options.shortest_ns = 1'000'000;
    options.longest_ns = 3'000'000;
    uploader_ = std::make_unique<Uploader>(std::move(options));
    uploader_->aim({"s3://bucket/ck", folder_.path(), keep});
  }
  bool settles() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return uploader_->settled(); });
  }
  CheckpointName save(std::uint64_t step) {
    checkpoint::Manifest facts;
    facts.step = step;
    facts.time_ns = static_cast<std::int64_t>(step);
    auto draft = checkpoint::Draft::begin(folder_, facts);
    auto file = (*draft)->add("a", 0, {});
    EXPECT_TRUE((*file)->write(base::bytes_of("of " + std::to_string(step))).ok());
    EXPECT_TRUE((*file)->finish().ok());
    return (*draft)->commit().value();
  }
  // Steps with a manifest, by their order.
  std::vector<std::string> stored() {
    std::vector<std::string> out;
    for (const auto& [key, data] : sim_.objects()) {
      if (key.ends_with("/MANIFEST.json")) out.push_back(key.substr(3, 20));
    }
    return out;
  }

  base::TempDir dir_;
  checkpoint::CheckpointFolder folder_{base::real_file_system(), dir_.path() + "/ck"};
  SimStore sim_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> uploaded_;
  std::vector<std::string> places_, problems_;
  std::uint32_t skipped_ = 0;
  std::unique_ptr<Uploader> uploader_;
};

TEST_F(UploaderTest, TheNewestGoesUpAndTheRestIsCounted) {
  for (const std::uint64_t step : {10, 20, 30}) save(step);
  start();
  ASSERT_TRUE(settles());
  EXPECT_THAT(uploaded_, ElementsAre(30));
  EXPECT_EQ(skipped_, 2U);
  EXPECT_THAT(places_, ElementsAre("s3://bucket/ck/step-00000030-000003"));
  save(40);
  uploader_->look();
  ASSERT_TRUE(settles());
  EXPECT_THAT(uploaded_, ElementsAre(30, 40));
  EXPECT_EQ(skipped_, 2U);
}

TEST_F(UploaderTest, AnAnchorIsNeverLeftOut) {
  const CheckpointName kept = save(10);
  save(20);
  start();
  ASSERT_TRUE(settles());
  EXPECT_THAT(uploaded_, ElementsAre(20));
  ASSERT_TRUE(set_anchor(base::real_file_system(), folder_.path_of(kept), "why").ok());
  ASSERT_TRUE(set_anchor(base::real_file_system(), folder_.path_of({20, 2}), "late").ok());
  save(30);
  uploader_->look();
  ASSERT_TRUE(settles());
  EXPECT_THAT(uploaded_, ElementsAre(20, 30, 10));
  EXPECT_EQ(sim_.objects().at("ck/step-00000010-000001/ANCHOR"), "why\n");
  EXPECT_EQ(sim_.objects().at("ck/step-00000020-000002/ANCHOR"), "late\n");
}

// Whatever request it dies at, the next one ends what it began.
TEST_F(UploaderTest, KilledAtAnyRequest) {
  save(10);
  for (std::size_t dead_at = 0;; ++dead_at) {
    SCOPED_TRACE(dead_at);
    ASSERT_LT(dead_at, 100U) << "it never ended";
    for (const auto& [key, data] : sim_.objects()) sim_.erase(key);
    sim_.die_at(dead_at);
    uploaded_.clear();
    start();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60),
                      [&] { return uploader_->settled() || uploader_->failed(); });
    lock.unlock();
    uploader_.reset();  // killed
    sim_.die_at(std::nullopt);
    const bool done = !uploaded_.empty() && problems_.empty();
    problems_.clear();
    start();
    ASSERT_TRUE(settles());
    EXPECT_THAT(stored(), ElementsAre("step-00000010-000001"));
    EXPECT_EQ(sim_.objects().at("ck/step-00000010-000001/a"), "of 10");
    uploader_.reset();
    problems_.clear();
    if (done) return;
  }
}

TEST_F(UploaderTest, AStoreThatIsAwayIsToldOnceAndTriedAgain) {
  save(10);
  std::atomic<int> asked = 0;
  sim_.before = [&](const net::HttpRequest&, std::size_t) {
    return asked++ < 20 ? std::optional(object_store::error_answer(503, "SlowDown")) : std::nullopt;
  };
  start();
  ASSERT_TRUE(settles());
  EXPECT_GE(asked, 20);
  EXPECT_THAT(uploaded_, ElementsAre(10));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("503 SlowDown")));
}

TEST_F(UploaderTest, ADamagedOneIsToldAndTheNextIsTaken) {
  save(10);
  const CheckpointName bad = save(20);
  dir_.write("ck/" + bad.text() + "/a", "xx 20");
  start();
  ASSERT_TRUE(settles());
  EXPECT_THAT(uploaded_, ElementsAre(10));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("damaged between")));
  EXPECT_THAT(stored(), ElementsAre("step-00000010-000001"));
}

TEST_F(UploaderTest, AFolderThatWasLostGoesOnBehindWhatIsThere) {
  for (const std::uint64_t step : {10, 20}) {
    save(step);
    if (!uploader_) start();
    uploader_->look();
    ASSERT_TRUE(settles());
  }
  uploader_.reset();
  std::filesystem::remove_all(folder_.path());
  save(30);
  start();
  ASSERT_TRUE(settles());
  EXPECT_THAT(stored(),
              ElementsAre("step-00000010-000001", "step-00000020-000002", "step-00000030-000003"));
  EXPECT_EQ(sim_.objects().at("ck/LATEST"), "step-00000030-000003\n");
}

TEST_F(UploaderTest, OneThatWasSpoiledThereGoesUpAgain) {
  save(10);
  start();
  ASSERT_TRUE(settles());
  uploader_.reset();
  sim_.erase("ck/step-00000010-000001/a");
  start();
  ASSERT_TRUE(settles());
  EXPECT_EQ(sim_.objects().at("ck/step-00000010-000001/a"), "of 10");
}

TEST_F(UploaderTest, SoManyAreKeptThere) {
  sim_.set("ck/step-00000005-000000/a", "left half by somebody who died");
  start(2);
  for (const std::uint64_t step : {10, 20, 30, 40}) {
    const CheckpointName name = save(step);
    if (step == 10) {
      ASSERT_TRUE(set_anchor(base::real_file_system(), folder_.path_of(name), "").ok());
    }
    uploader_->look();
    ASSERT_TRUE(settles());
  }
  EXPECT_THAT(stored(),
              ElementsAre("step-00000010-000001", "step-00000030-000003", "step-00000040-000004"));
  EXPECT_FALSE(sim_.objects().contains("ck/step-00000005-000000/a"));
  EXPECT_FALSE(sim_.objects().contains("ck/step-00000020-000002/a"));
}

TEST_F(UploaderTest, WhatIsBeingReadIsNamedToWhoeverRemoves) {
  const CheckpointName name = save(10);
  std::atomic<bool> go = false;
  std::atomic<bool> sending = false;
  sim_.before = [&](const net::HttpRequest& request, std::size_t) {
    if (request.method == "PUT" && request.url.find("/a") != std::string::npos) {
      sending = true;
      while (!go) std::this_thread::yield();
    }
    return std::optional<net::Exchange>();
  };
  start();
  while (!sending) std::this_thread::yield();
  std::optional<CheckpointName> read;
  uploader_->while_reading([&](const auto& name_now) { read = name_now; });
  EXPECT_FALSE(uploader_->settled());
  go = true;
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), name.text());
  ASSERT_TRUE(settles());
  uploader_->while_reading([&](const auto& name_now) { read = name_now; });
  EXPECT_FALSE(read);
}

}  // namespace
}  // namespace headway::replica
