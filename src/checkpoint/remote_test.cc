#include "checkpoint/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/sim_file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/anchor.h"
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
  f.sim.after = [&](const net::HttpRequest& request, net::Exchange&) {
    if (request.into.size() > 100'000 && damaged++ == 0) request.into[77] ^= std::byte{4};
  };
  const auto down = f.remote.download(name, copy);
  ASSERT_TRUE(down.ok()) << down.status().message();
  EXPECT_TRUE(copy.verify(down.value().name).ok());
}

// The reader dies before any of its requests: what it leaves is no checkpoint, and the next one
// gets only what is missing.
TEST(Remote, ADownloadGoesOnWhereItWas) {
  Fixture whole;
  const CheckpointName name = whole.save(7, two_files());
  ASSERT_TRUE(whole.upload(name).ok());
  CheckpointFolder once(base::real_file_system(), whole.dir.path() + "/once");
  whole.sim.die_at(std::nullopt);
  const std::size_t before = whole.sim.requests();
  ASSERT_TRUE(whole.remote.download(name, once).ok());
  const std::size_t requests = whole.sim.requests() - before;
  ASSERT_GT(requests, 8U);
  std::size_t went_on = 0;
  for (std::size_t dead_at = 0; dead_at < requests; ++dead_at) {
    SCOPED_TRACE(dead_at);
    const std::string path = whole.dir.path() + "/copy-" + std::to_string(dead_at);
    CheckpointFolder copy(base::real_file_system(), path);
    whole.sim.die_at(dead_at);
    EXPECT_FALSE(whole.remote.download(name, copy).ok());
    whole.sim.die_at(std::nullopt);
    EXPECT_TRUE(copy.list().value().empty());
    auto report = whole.remote.download(name, copy);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->name.text(), name.text());
    EXPECT_TRUE(copy.verify(report->name).ok());
    went_on += report->bytes_sent < report->bytes ? 1 : 0;
    EXPECT_TRUE(whole.remote.download(name, copy)->was_there);
  }
  EXPECT_GT(went_on, 3U);
}

TEST(Remote, ADownloadThatLostItsPower) {
  Fixture f;
  const std::map<std::string, std::string> small = {{"a", some_bytes(9000, 1)}, {"b", "x"}};
  const CheckpointName name = f.save(7, small);
  ASSERT_TRUE(f.upload(name).ok());
  base::SimFileSystem counted;
  ASSERT_TRUE(f.remote.download(name, CheckpointFolder(counted, "/ck")).ok());
  std::mt19937 random(7);
  for (std::size_t off_at = 0; off_at < counted.calls(); ++off_at) {
    base::SimFileSystem machine;
    machine.lose_power_at(off_at);
    EXPECT_FALSE(f.remote.download(name, CheckpointFolder(machine, "/ck")).ok());
    for (int tries = 0; tries < 8; ++tries) {
      SCOPED_TRACE(std::to_string(off_at) + "/" + std::to_string(tries));
      const auto next =
          machine.after_crash([&](std::size_t) { return std::array{0.0, 0.5, 1.0}[random() % 3]; });
      const CheckpointFolder found(*next, "/ck");
      const auto names = found.list();
      for (const CheckpointName& each : names.value()) EXPECT_TRUE(found.verify(each).ok());
      auto again = f.remote.download(name, found);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_TRUE(found.verify(again->name).ok());
      EXPECT_EQ(found.list().value().size(), 1U);
    }
  }
}

TEST(Remote, NumbersGoOnFromWhicheverIsHigher) {
  Fixture f;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(f.upload(f.save(7, {{"a", std::to_string(i)}})).ok());
  CheckpointFolder copy(base::real_file_system(), f.dir.path() + "/copy");
  EXPECT_EQ(f.remote.download({7, 3}, copy)->name.sequence, 3U);
  EXPECT_EQ(f.remote.download({7, 2}, copy)->name.sequence, 4U);
  EXPECT_EQ(f.remote.download({7, 4}, copy)->name.sequence, 5U);
  EXPECT_EQ(f.remote.download({7, 3}, copy)->name.sequence, 3U) << "it was there";
}

TEST(Remote, WhatALookTells) {
  Fixture f;
  ASSERT_TRUE(f.upload(f.save(1, {{"a", "one"}})).ok());
  const CheckpointName kept = f.save(2, {{"a", "two"}});
  ASSERT_TRUE(set_anchor(base::real_file_system(), f.local.path_of(kept), "why").ok());
  ASSERT_TRUE(f.remote.upload(f.local, base::real_file_system(), kept, nullptr, {{2, 8}}).ok());
  ASSERT_TRUE(f.upload(f.save(9, {{"a", "gone"}})).ok());
  f.sim.erase("ck/x/step-00000009-000003/a");
  f.sim.set("ck/x/step-00000003-000009/a", "half");
  auto looks = f.remote.look(10);
  ASSERT_TRUE(looks.ok()) << looks.status().message();
  ASSERT_EQ(looks->size(), 4U);
  EXPECT_TRUE((*looks)[0].unfinished);
  EXPECT_EQ((*looks)[1].path, "s3://bucket/ck/x/step-00000002-000008");
  EXPECT_TRUE((*looks)[1].anchor && (*looks)[1].state.ok());
  EXPECT_EQ((*looks)[2].state.code(), base::Code::corrupt);
  EXPECT_TRUE((*looks)[3].state.ok() && !(*looks)[3].anchor);
  EXPECT_EQ(f.remote.look(1)->size(), 2U) << "no more than were asked for";
  EXPECT_TRUE(f.remote.is_anchor({2, 8}).value());
  EXPECT_FALSE(f.remote.is_anchor({1, 1}).value());
  ASSERT_TRUE(f.remote.remove({2, 8}).ok());
  EXPECT_FALSE(f.sim.objects().contains("ck/x/step-00000002-000008/ANCHOR"));
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
  f.sim.before = [](const net::HttpRequest&, std::size_t) {
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
