#include "checkpoint/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "object_store/sim_store.h"

namespace headway::checkpoint {
namespace {

using object_store::SimStore;
using object_store::some_bytes;
using object_store::StoreOptions;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kPart = 5'000'000;  // no multiple of a chunk

StoreOptions small_parts(std::size_t connections = 1) {
  StoreOptions options;
  options.part_bytes = kPart;
  options.range_bytes = 1'500'000;
  options.connections = connections;
  options.retry.tries = 2;
  return options;
}

struct Fixture {
  explicit Fixture(std::size_t connections = 1)
      : store(sim, object_store::test_settings(), SimStore::bucket, small_parts(connections),
              object_store::test_runtime()) {}

  CheckpointName save(std::uint64_t step, const std::map<std::string, std::string>& contents) {
    Manifest facts;
    facts.step = step;
    facts.job = "j";
    facts.world_size = 2;
    auto draft = Draft::begin(local, facts);
    EXPECT_TRUE(draft.ok()) << draft.status().message();
    for (const auto& [name, data] : contents) {
      auto file = (*draft)->add(name, 1, {});
      EXPECT_TRUE((*file)->write(base::bytes_of(data)).ok());
      EXPECT_TRUE((*file)->finish().ok());
    }
    return (*draft)->commit().value();
  }
  base::Result<CopyReport> upload(const CheckpointName& name) {
    return remote.upload(local, base::real_file_system(), name);
  }
  std::vector<std::string> listed() {
    const auto names = remote.list();
    std::vector<std::string> out;
    for (const CheckpointName& name : names.value()) out.push_back(name.text());
    return out;
  }
  std::string latest() {
    const auto objects = sim.objects();
    return objects.contains("ck/x/LATEST") ? objects.at("ck/x/LATEST") : "";
  }

  base::TempDir dir;
  CheckpointFolder local{base::real_file_system(), dir.path() + "/ck"};
  SimStore sim;
  object_store::Store store;
  RemoteCheckpoints remote{store, "ck/x"};
};

const std::map<std::string, std::string>& two_files() {
  static const std::map<std::string, std::string> files = {{"a", some_bytes(11'000'000, 1)},
                                                           {"b", some_bytes(1000, 2)}};
  return files;
}

TEST(Remote, ThereAndBack) {
  Fixture f(3);
  const CheckpointName name = f.save(100, two_files());
  std::atomic<std::uint64_t> done = 0;
  const auto up = f.remote.upload(f.local, base::real_file_system(), name, &done);
  ASSERT_TRUE(up.ok()) << up.status().message();
  EXPECT_EQ(up.value().bytes, 11'001'000U);
  EXPECT_EQ(done, 11'001'000U);
  EXPECT_THAT(f.listed(), ElementsAre("step-00000100-000001"));
  EXPECT_EQ(f.latest(), "step-00000100-000001\n");

  CheckpointFolder copy(base::real_file_system(), f.dir.path() + "/copy");
  done = 0;
  const auto down = f.remote.download(name, copy, &done);
  ASSERT_TRUE(down.ok()) << down.status().message();
  EXPECT_EQ(done, 11'001'000U);
  EXPECT_TRUE(copy.verify(down.value().name).ok());
  EXPECT_EQ(to_text(copy.read(down.value().name).value()), to_text(f.local.read(name).value()));

  const auto again = f.upload(name);
  EXPECT_TRUE(again.value().was_there);
  EXPECT_EQ(again.value().bytes_sent, 0U);
}

// The uploader dies before any of its requests: no reader ever takes the half for a whole, the
// older one stays, and the next run finishes it and sends no part twice.
TEST(Remote, DeadAtAnyRequest) {
  Fixture whole;
  const CheckpointName first = whole.save(1, {{"a", "x"}});
  ASSERT_TRUE(whole.upload(first).ok());
  const CheckpointName second = whole.save(2, two_files());
  whole.sim.die_at(std::nullopt);
  ASSERT_TRUE(whole.upload(second).ok());
  const std::size_t requests = whole.sim.requests();
  ASSERT_GT(requests, 12U);
  std::size_t resumed_for_free = 0;
  for (std::size_t dead_at = 0; dead_at < requests; ++dead_at) {
    SCOPED_TRACE(dead_at);
    Fixture f;
    ASSERT_TRUE(f.upload(f.save(1, {{"a", "x"}})).ok());
    const CheckpointName name = f.save(2, two_files());
    f.sim.die_at(dead_at);
    EXPECT_FALSE(f.upload(name).ok());
    f.sim.die_at(std::nullopt);
    const bool committed = f.sim.objects().contains("ck/x/step-00000002-000002/MANIFEST.json");
    std::vector<std::string> passed;
    const auto good = f.remote.newest_good(passed);
    ASSERT_TRUE(good.ok() && good.value());
    EXPECT_EQ(good.value()->name.step, committed ? 2U : 1U);
    EXPECT_TRUE(passed.empty());
    EXPECT_EQ(f.listed().size(), committed ? 2U : 1U);
    EXPECT_TRUE(committed || f.latest() == "step-00000001-000001\n");

    const auto report = f.upload(name);
    ASSERT_TRUE(report.ok()) << report.status().message();
    resumed_for_free += report.value().bytes_sent < kPart ? 1 : 0;
    EXPECT_EQ(f.latest(), "step-00000002-000002\n");
    EXPECT_EQ(f.remote.newest_good(passed).value()->name.step, 2U);
    EXPECT_EQ(f.sim.objects().at("ck/x/step-00000002-000002/a"), two_files().at("a"));
    EXPECT_EQ(f.sim.uploads(), 0U);
  }
  EXPECT_GT(resumed_for_free, 3U);
}

TEST(Remote, ADamagedFileDoesNotGoUp) {
  Fixture f;
  const CheckpointName name = f.save(7, two_files());
  std::string data = two_files().at("a");
  data[9'000'000] ^= 1;
  f.dir.write("ck/" + name.text() + "/a", data);
  const auto report = f.upload(name);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.status().message(), HasSubstr("damaged between bytes 8388608 and 11000000"));
  EXPECT_TRUE(f.listed().empty());
}

TEST(Remote, ADamagedObjectDoesNotComeDown) {
  Fixture f(2);
  const CheckpointName name = f.save(7, two_files());
  ASSERT_TRUE(f.upload(name).ok());
  const std::string object = "ck/x/" + name.text() + "/a";
  const std::string good = f.sim.objects().at(object);
  CheckpointFolder copy(base::real_file_system(), f.dir.path() + "/copy");
  const auto get = [&](const std::string& data) {
    f.sim.set(object, data);
    const auto report = f.remote.download(name, copy);
    EXPECT_FALSE(report.ok());
    EXPECT_TRUE(copy.list().value().empty());
    return report.status().message();
  };
  std::string data = good;
  data[5'000'000] ^= 1;
  EXPECT_THAT(get(data),
              HasSubstr("s3://bucket/" + object + ": damaged between bytes 4194304 and"));
  data = good;
  data.back() ^= 1;
  EXPECT_THAT(get(data), HasSubstr("damaged between bytes 8388608 and 11000000"));
  EXPECT_THAT(get(good + "x"), HasSubstr("11000001 bytes, its manifest says 11000000"));
  f.sim.erase(object);
  EXPECT_EQ(f.remote.download(name, copy).status().code(), base::Code::not_found);

  // Damaged on the way, once: read again.
  f.sim.set(object, good);
  std::atomic<int> damaged = 0;
  f.sim.after = [&](const object_store::HttpRequest& request, object_store::Exchange&) {
    if (request.into.size() > 100'000 && damaged++ == 0) request.into[77] ^= std::byte{4};
  };
  const auto down = f.remote.download(name, copy);
  ASSERT_TRUE(down.ok()) << down.status().message();
  EXPECT_TRUE(copy.verify(down.value().name).ok());
}

TEST(Remote, TheNewestGoodOne) {
  Fixture f;
  std::vector<CheckpointName> names;
  for (const std::uint64_t step : {10U, 20U, 15U, 30U}) {
    names.push_back(f.save(step, {{"a", "data of " + std::to_string(step)}}));
    ASSERT_TRUE(f.upload(names.back()).ok());
  }
  const auto front = [&](std::size_t i) { return "ck/x/" + names[i].text() + "/"; };
  f.sim.set(front(3) + "MANIFEST.json", "{}");
  f.sim.erase(front(2) + "a");
  std::vector<std::string> passed;
  auto good = f.remote.newest_good(passed);
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ(good.value()->name.step, 20U);
  ASSERT_EQ(passed.size(), 2U);
  EXPECT_THAT(passed[0], HasSubstr("MANIFEST.json: not a good manifest"));
  EXPECT_THAT(passed[1], HasSubstr("/a: not there"));
  f.sim.before = [](const object_store::HttpRequest&, std::size_t) {
    return std::optional(object_store::error_answer(503, "SlowDown"));
  };
  EXPECT_FALSE(f.remote.newest_good(passed).ok()) << "no answer is not an older checkpoint";
}

TEST(Remote, NothingIsReplaced) {
  Fixture f;
  const CheckpointName name = f.save(5, {{"a", "one"}});
  ASSERT_TRUE(f.upload(name).ok());
  const auto before = f.sim.objects();
  CheckpointFolder other(base::real_file_system(), f.dir.path() + "/other");
  Manifest facts;
  facts.step = 5;
  auto draft = Draft::begin(other, facts);
  ASSERT_TRUE((*draft)->commit().ok());
  const auto report = f.remote.upload(other, base::real_file_system(), name);
  EXPECT_THAT(report.status().message(), HasSubstr("another checkpoint of this name is there"));
  EXPECT_EQ(f.sim.objects(), before);
}

TEST(Remote, AnOlderOneThatComesLaterIsNotTheLatest) {
  Fixture f;
  const CheckpointName first = f.save(1, {{"a", "one"}});
  const CheckpointName second = f.save(2, {{"a", "two"}});
  ASSERT_TRUE(f.upload(second).ok());
  ASSERT_TRUE(f.upload(first).ok());
  EXPECT_EQ(f.latest(), second.text() + "\n");
  EXPECT_EQ(f.listed().size(), 2U);
  ASSERT_TRUE(f.remote.remove(second).ok());
  EXPECT_EQ(f.latest(), first.text() + "\n");
  ASSERT_TRUE(f.remote.remove(first).ok());
  EXPECT_TRUE(f.sim.objects().empty());
}

TEST(Remote, RemovedAtAnyRequest) {
  for (std::size_t dead_at = 0; dead_at < 20; ++dead_at) {
    SCOPED_TRACE(dead_at);
    Fixture f;
    const CheckpointName name = f.save(1, {{"a", "one"}, {"b", "two"}});
    ASSERT_TRUE(f.upload(name).ok());
    f.sim.die_at(dead_at);
    const bool done = f.remote.remove(name).ok();
    f.sim.die_at(std::nullopt);
    const bool whole = f.sim.objects().contains("ck/x/step-00000001-000001/a") &&
                       f.sim.objects().contains("ck/x/step-00000001-000001/b");
    EXPECT_TRUE(f.listed().empty() || whole) << "half of it looks like one";
    ASSERT_TRUE(f.remote.remove(name).ok());
    EXPECT_TRUE(f.sim.objects().empty());
    if (done) return;
  }
  FAIL() << "it never ended";
}

TEST(Remote, WhatElseLiesThere) {
  Fixture f;
  const CheckpointName name = f.save(1, {{"a", "one"}});
  ASSERT_TRUE(f.upload(name).ok());
  for (const char* key :
       {"ck/x/notes.txt", "ck/x/step-1/MANIFEST.json", "ck/x/other/MANIFEST.json",
        "ck/xy/step-00000009-000009/MANIFEST.json", "ck/x/step-00000009-000009/a"}) {
    f.sim.set(key, "?");
  }
  EXPECT_THAT(f.listed(), ElementsAre(name.text()));
}

}  // namespace
}  // namespace headway::checkpoint
